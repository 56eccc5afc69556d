/** One verdict of a request of any action: what accepts it, a test on the past of what is recorded, and whoever signs it. */
import { Interface } from 'ethers/abi'
import fc from 'fast-check'
import t from 'tap'
import { JUDGED_KINDS, PAST } from '../../src/compose/capabilities.ts'
import { PolicyRefused } from '../../src/core/errors.ts'
import type { JudgedParts } from '../../src/core/policy-limit.ts'
import type { Opening } from '../../src/core/registry.ts'
import type { DataEvent } from '../../src/event-log/read-tenant-data.ts'
import { encodeMint } from '../../src/nft/contracts/encode-calls.ts'
import { createBacktest } from '../../src/policies/backtest.ts'
import { type CheckRequests, checkRequests } from '../../src/policies/check-requests.ts'
import { type CompiledPolicy, compilePolicy } from '../../src/policies/compile.ts'
import { decide } from '../../src/policies/decide.ts'
import type { Facts } from '../../src/policies/facts.ts'
import type { Judged } from '../../src/policies/intent.ts'
import { type Asking, createJudge, type Judge } from '../../src/policies/judge.ts'
import type { Changes } from '../../src/policies/log-facts.ts'
import { createPast } from '../../src/policies/past.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import {
  judgedExport,
  judgedKeyChange,
  judgedSignature,
  judgedVoucher,
  type SignedFacts,
} from '../../src/policies/signature-intents.ts'
import { judgedTransaction } from '../../src/policies/transaction-intents.ts'
import type { SwapIntent } from '../../src/swaps/part.ts'
import {
  ALICE,
  BOB,
  CAROL,
  COLLECTION,
  ETH,
  EXCHANGE,
  factsOf,
  KEY,
  MALLORY,
  NOON,
  openingData,
  PRICES,
  readSent,
  UNKNOWN,
  USDC,
  USDT,
  WALLET,
} from '../support/policies.ts'
import { LISTS, rulesOf, wideLimitsOf } from '../support/policy-cases.ts'
import { stored } from '../support/stored.ts'

const ABI = new Interface([
  'function transfer(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function transferFrom(address from, address to, uint256 amount)',
  'function setApprovalForAll(address operator, bool isApproved)',
  'function multicall(bytes[] calls)',
])
const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const ACTOR = `apikey:${KEY}`
const PLACE = { ...OWNER, walletId: 'wal_1', network: 'ethereum', chainId: 1, requestedAt: NOON } as const
const TAGS = ['hot']
const known = factsOf({ tags: TAGS, isOwnSpender: () => false })
const NOW = new Date(NOON).toISOString()

/** A request with its event, and how each of the three reads it. */
type Case = {
  readonly name: string
  readonly stream: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  readonly before: readonly DataEvent[]
  readonly accept: (judge: Judge, asking: Asking) => Promise<JudgedParts>
  readonly read: (facts: Facts) => Judged
}

function event(streamId: string, type: string, data: unknown): DataEvent {
  const schemas = PAST.schemas.get(streamId.split('-')[0] ?? '') as Readonly<Record<string, { version: number }>>
  return { streamId, type, schemaVersion: schemas[type]?.version ?? 1, data, actor: ACTOR, recordedAt: NOON }
}

const addresses = fc.constantFrom(ALICE, BOB, CAROL, MALLORY)
const amounts = fc.integer({ min: 0, max: 4_000 }).map((thousandths) => BigInt(thousandths) * 1_000n)
const plainCalls = fc.oneof(
  fc.tuple(addresses, amounts).map(([to, amount]) => ABI.encodeFunctionData('transfer', [to, amount])),
  fc.tuple(addresses, amounts).map(([to, amount]) => ABI.encodeFunctionData('approve', [to, amount])),
  addresses.map((to) => ABI.encodeFunctionData('approve', [to, 2n ** 256n - 1n])),
  fc.tuple(addresses, amounts).map(([to, amount]) => ABI.encodeFunctionData('transferFrom', [WALLET, to, amount])),
  fc.tuple(addresses, fc.boolean()).map(([to, is]) => ABI.encodeFunctionData('setApprovalForAll', [to, is])),
  fc.uint8Array({ maxLength: 80 }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`),
)
const calls = fc.oneof(
  plainCalls,
  fc.array(plainCalls, { minLength: 1, maxLength: 3 }).map((inner) => ABI.encodeFunctionData('multicall', [inner])),
)
const contracts = fc.constantFrom(USDC.contract ?? '', USDT.contract ?? '', COLLECTION, EXCHANGE, UNKNOWN)

function transaction(type: Opening, parts: Parameters<typeof openingData>[0]): Case {
  const data = openingData(parts)
  return {
    ...{ name: type, stream: 'transaction-tx_1', type, data: stored(data) as never, before: [] },
    accept: (judge, asking) => judge.transaction(type, data, asking),
    read: (facts) => judgedTransaction(JUDGED_KINDS, { type, data }, facts),
  }
}

const swapped: SwapIntent = {
  ...{ toAsset: USDT, fromAmount: '1000000', toAmount: '999000', limit: '990000' },
  ...{ amountType: 'exact_input', wrapped: null, approvalTransactionId: null },
}
const transactions: readonly fc.Arbitrary<Case>[] = [
  fc.tuple(addresses, amounts, fc.constantFrom(ETH, USDC), fc.boolean()).map(([to, amount, asset, isOfBatch]) => {
    const subject = isOfBatch ? ({ type: 'transfer_batch', id: 'batch_1' } as never) : null
    return transaction('TransferRequested', { to, amount: amount * (asset === ETH ? 10n ** 12n : 1n), asset, subject })
  }),
  fc
    .tuple(amounts, calls)
    .map(([amount, data]) => transaction('SwapRequested', { to: EXCHANGE, amount, asset: USDC, data, swap: swapped })),
  fc
    .tuple(contracts, calls, amounts)
    .map(([to, data, amount]) => transaction('ContractCallRequested', { to, data, asset: ETH, amount })),
  fc
    .tuple(contracts, calls)
    .map(([to, data]) => transaction('TokenApprovalRequested', { to, data, asset: ETH, amount: 0n })),
  fc.tuple(addresses, calls, fc.boolean()).map(([recipient, other, isMint]) => {
    const data = isMint ? encodeMint('ERC721', 1n, { recipient, amount: 1n, digest: `0x${'ab'.repeat(32)}` }) : other
    return transaction('MintRequested', { to: COLLECTION, data, asset: ETH, amount: 0n })
  }),
  fc.tuple(addresses, fc.constantFrom(COLLECTION, UNKNOWN)).map(([to, contract]) => {
    const data = ABI.encodeFunctionData('transferFrom', [WALLET, to, 77n])
    return transaction('NftTransferRequested', { to: contract, data, asset: ETH, amount: 0n })
  }),
]

function signature(type: string, signed: SignedFacts): Case {
  return {
    ...{ name: type, stream: 'signature-sig_1', type, data: { ...PLACE, ...signed }, before: [] },
    accept: (judge, asking) => judge.signature({ ...PLACE, ...signed }, asking),
    read: (facts) => judgedSignature({ ...PLACE, ...signed }, facts),
  }
}

const PERMIT = ['owner address', 'spender address', 'value uint256', 'nonce uint256', 'deadline uint256']
const fieldsOf = (fields: readonly string[]) =>
  fields.map((field) => ({ name: field.split(' ')[0] ?? '', type: field.split(' ')[1] ?? '' }))

const others: readonly fc.Arbitrary<Case>[] = [
  fc
    .constantFrom('0x6869', `0x${'ab'.repeat(32)}`)
    .map((message) => signature('MessageSignatureRequested', { message })),
  fc.tuple(contracts, addresses, amounts, fc.boolean()).map(([verifyingContract, spender, value, isPermit]) => {
    const types = isPermit ? { Permit: fieldsOf(PERMIT) } : { Vote: fieldsOf(['voter address']) }
    const message = isPermit
      ? { owner: WALLET, spender, value: `${value}`, nonce: '0', deadline: '9999999999' }
      : { voter: spender }
    return signature('TypedDataSignatureRequested', {
      typedData: { domain: { chainId: 1, verifyingContract }, types, message },
    })
  }),
  fc.constant({
    ...{ name: 'export', stream: 'export-exp_1', type: 'WalletExportRequested', data: PLACE, before: [] },
    accept: (judge: Judge, asking: Asking) => judge.export(PLACE, asking),
    read: (facts: Facts) => judgedExport(PLACE, facts),
  }),
  fc.option(addresses).map((recipient): Case => {
    const voucher = { ...PLACE, contract: COLLECTION, recipient }
    const minted = { mintingType: 'LAZY', tokens: [{ recipient }] }
    return {
      ...{ name: 'voucher', stream: 'mint-mint_1', type: 'VoucherRequested', data: voucher },
      before: [event('mint-mint_1', 'MintRecorded', minted)],
      accept: (judge, asking) => judge.voucher(voucher, asking),
      read: (facts) => judgedVoucher(voucher, facts),
    }
  }),
]

const keyChange: Case = {
  ...{ name: 'key change', stream: 'apikey-key_2', type: 'ApiKeyIssued', before: [] },
  data: { ...OWNER, issuedBy: KEY, issuedAt: NOON },
  accept: (judge, asking) => judge.keyChange(PLACE, asking),
  read: (facts) => judgedKeyChange(PLACE, facts),
}

const CASES = fc.oneof(...transactions, ...others, fc.constant(keyChange))
/** What nothing may publish yet is left out. */
const publishable = (rules: readonly SentRule[]) => rules.filter(({ effect }) => effect !== 'require_approval')

/** The log by then: a token of the settings, a tagged wallet, another wallet of the tenant, a collection. */
const HISTORY: readonly DataEvent[] = [
  event('wallet-wal_1', 'WalletRequested', { network: 'ethereum', chainId: 1 }),
  event('wallet-wal_1', 'WalletTagged', { tags: TAGS, taggedAt: NOON }),
  event('wallet-wal_2', 'WalletCreated', { address: CAROL }),
  event('collection-col_1', 'CollectionRequested', { chainId: 1, contractAddress: COLLECTION }),
]
const CHAINS = [
  {
    chainId: 1,
    tokens: [USDC, USDT].map(({ symbol, contract, decimals }) => ({ symbol, address: contract ?? '', decimals })),
  },
]
const tokenOf = (chainId: number, contract: string) =>
  [USDC, USDT].find((asset) => chainId === 1 && asset.contract?.toLowerCase() === contract) ?? null

const judgeOf = (active: CompiledPolicy) =>
  createJudge({
    kinds: JUDGED_KINDS,
    inForce: async () => ({ active, shadow: null, isSeeded: false }),
    tagsOf: async () => TAGS,
    assetsOf: async () => ({ tokenOf: (contract) => tokenOf(1, contract), priceOf: known.priceOf }),
    ownAmong: async (_owner, all) => new Set(all.filter((address) => known.isOwn(address))),
    collectionsAmong: async (_tenant, chainId, all) => new Set(all.filter((one) => known.isCollection(chainId, one))),
    isOwnSpender: known.isOwnSpender,
  })

const since = <Value>(value: Value): Changes<Value> => [{ position: 1n, at: '2026-01-01T00:00:00.000Z', value }]
const signerOf = (active: CompiledPolicy): CheckRequests => {
  const ctx: Parameters<typeof checkRequests>[0] = {
    policies: {
      inForceAt: async (all) =>
        all.map(() => ({ active: { version: active.version, streamVersion: 1, hashBefore: '' }, shadow: null })),
      rulesOf: async () => active,
    },
    facts: {
      tagsOf: async () => since(TAGS),
      tokenOf: async (_tenant, chainId, contract) => since(tokenOf(chainId, contract)),
      isOwn: async (_owner, address) => since(known.isOwn(address)),
      isCollection: async (_tenant, chainId, contract) => since(known.isCollection(chainId, contract)),
      isOwnSpender: known.isOwnSpender,
    },
    ...{ counted: null, times: null },
  }
  return (requests) => checkRequests(ctx, requests)
}

const ALL_PRICES = Object.entries(PRICES).map(([assetId, usd]) => ({ assetId, usd, at: NOW }))

/** Whether it is let through. What is refused is not recorded: then this is what a forged event would say of it. */
async function accepted(one: Case, policy: CompiledPolicy): Promise<{ isAllowed: boolean; parts: JudgedParts }> {
  try {
    return { isAllowed: true, parts: await one.accept(judgeOf(policy), { actor: ACTOR }) }
  } catch (error) {
    if (!(error instanceof PolicyRefused)) throw error
    const facts = {
      ...known,
      priceOf: (assetId: string) => ALL_PRICES.find((each) => each.assetId === assetId) ?? null,
    }
    const { reservations } = decide(policy, one.read(facts))
    return { isAllowed: false, parts: { policy: { version: 1, tags: TAGS, prices: ALL_PRICES }, reservations } }
  }
}

function backtested(one: Case, policy: CompiledPolicy, parts: JudgedParts): boolean {
  const past = createPast(OWNER, { source: PAST, chains: CHAINS, isAnyPrice: false })
  for (const earlier of [...HISTORY, ...one.before]) past.take(earlier)
  const step = past.take(event(one.stream, one.type, { ...one.data, ...stored(parts) }))
  if (step?.is !== 'request') throw new Error(`${one.name} is no request of the past`)
  return createBacktest(policy).request(step.id, step.judged) === 'allowed'
}

async function signed(one: Case, policy: CompiledPolicy, parts: JudgedParts): Promise<string | null> {
  const request = { ...OWNER, id: 'one', position: 9n, actor: ACTOR, walletId: 'wal_1', requestedAt: NOON }
  const found = await signerOf(policy)([
    { ...request, policy: parts.policy, reservations: parts.reservations, judge: one.read },
  ])
  return found.get('one') ?? null
}

t.test('what accepts a request, a test on the past and a signer say the same of each action', async (t) => {
  const said = new Map<string, Set<boolean>>()
  let reserved = 0
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(rulesOf(6), wideLimitsOf(3)),
      fc.constantFrom('allow' as const, 'deny' as const),
      CASES,
      async (rules, by, one) => {
        const policy = compilePolicy(readSent({ default: by, lists: LISTS, rules: publishable(rules) }), 1)
        const { isAllowed, parts } = await accepted(one, policy)
        said.set(one.name, (said.get(one.name) ?? new Set()).add(isAllowed))
        if (backtested(one, policy, parts) !== isAllowed) throw new Error(`${one.name}: the back-test differs`)
        // Nobody signs a key.
        if (one === keyChange) return
        const problem = await signed(one, policy, parts)
        if ((problem === null) !== isAllowed) throw new Error(`${one.name}: accepted: ${isAllowed}, signer: ${problem}`)
        if (!isAllowed || parts.reservations === undefined) return
        reserved += 1
        const [, ...fewer] = parts.reservations
        const missing = await signed(one, policy, { ...parts, reservations: fewer })
        if (missing === null) throw new Error(`${one.name}: a signer takes it without a reservation`)
      },
    ),
    { numRuns: 1_500 },
  )
  for (const [name, verdicts] of said) t.equal(verdicts.size, 2, `${name} was allowed, and refused`)
  t.equal(said.size, transactions.length + others.length + 1, 'every action was requested')
  t.ok(reserved > 100, `${reserved} counted towards a limit`)
})
