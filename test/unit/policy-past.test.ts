/** Requests of the past are judged by what was known then. */
import t from 'tap'
import { PAST } from '../../src/compose/capabilities.ts'
import type { DataEvent } from '../../src/event-log/read-tenant-data.ts'
import { createPast, type PastStep } from '../../src/policies/past.ts'
import { createWindows } from '../../src/policies/windows.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALICE, CAROL, COLLECTION, ETH, KEY, NOON, openingData, USDC } from '../support/policies.ts'
import { stored } from '../support/stored.ts'

const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const
const DAY_MS = 86_400_000

function event(streamId: string, type: string, data: unknown, actor = `apikey:${KEY}`): DataEvent {
  const [category = ''] = streamId.split('-')
  const schemaVersion = (PAST.schemas.get(category) as Record<string, { version: number }>)[type]?.version ?? 1
  return { streamId, type, schemaVersion, data, actor, recordedAt: NOON }
}

const opening = (parts = {}, type = 'TransferRequested') => event('transaction-tx_1', type, stored(openingData(parts)))
const past = (isAnyPrice = false) => createPast(OWNER, { source: PAST, chains: [], isAnyPrice })
const request = (step: PastStep | null) => {
  if (step?.is !== 'request') throw new Error('it is no request')
  return step.judged
}
const valued = (price: string, priceAt: string) =>
  event('observed-1', 'TransferObserved', { asset: ETH, valuation: { usd: '1', price, priceAt } })

t.test('tags, own wallets, tokens and prices are those of the events before', (t) => {
  const { take } = past()
  const toCarol = { to: CAROL, asset: ETH, amount: 10n ** 18n }
  matchExactly(t, request(take(opening(toCarol))), {
    tags: [],
    intents: [{ isToOwnWallet: false, moves: { price: null } }],
  })
  take(event('wallet-wal_1', 'WalletTagged', { tags: ['hot'], taggedAt: NOON }))
  take(event('wallet-wal_2', 'WalletCreated', { address: CAROL }))
  take(valued('2000', '2026-11-25T11:00:00.000Z'))
  const price = { usd: '2000', at: '2026-11-25T11:00:00.000Z' }
  matchExactly(t, request(take(opening(toCarol))), {
    tags: ['hot'],
    intents: [{ isToOwnWallet: true, moves: { price } }],
  })
  take(event('wallet-wal_1', 'WalletTagged', { tags: [], taggedAt: NOON }))
  t.strictSame(request(take(opening())).tags, [])
  t.end()
})

t.test('a watched address is no wallet of the tenant', (t) => {
  const { take } = past()
  take(event('wallet-wal_2', 'WatchStarted', { address: CAROL, network: 'ethereum', chainId: 1 }))
  matchExactly(t, request(take(opening({ to: CAROL }))).intents, [{ isToOwnWallet: false }])
  t.end()
})

t.test('what the event records of its judgement comes first', (t) => {
  const { take } = past()
  take(event('wallet-wal_1', 'WalletTagged', { tags: ['hot'], taggedAt: NOON }))
  take(valued('2000', NOON))
  const policy = { version: 3, tags: ['cold'], prices: [] }
  const judged = request(take(opening({ asset: ETH, policy })))
  matchExactly(t, judged, { tags: ['cold'], intents: [{ moves: { price: null } }] }, 'also that no price was known')
  const { prices: _, ...unpriced } = policy
  matchExactly(
    t,
    request(take(opening({ asset: ETH, policy: unpriced }))).intents,
    [{ moves: { price: { usd: '2000' } } }],
    'that of then where nobody asked for it',
  )
  const counted = past(true)
  counted.take(valued('2000', '2026-01-01T00:00:00.000Z'))
  matchExactly(t, request(counted.take(opening({ asset: ETH, policy }))).intents, [
    { moves: { price: { usd: '2000', at: NOON } } },
  ])
  t.end()
})

t.test('a token is known from its registration to its removal', (t) => {
  const { take } = past()
  const approve = {
    to: USDC.contract ?? '',
    asset: ETH,
    amount: 0n,
    data: `0x095ea7b3${'0'.repeat(24)}${ALICE.slice(2)}${'0'.repeat(63)}1`,
  }
  const symbol = () => request(take(opening(approve, 'ContractCallRequested'))).intents[0]?.moves?.symbol
  t.equal(symbol(), null)
  const { assetId, contract } = USDC
  const registered = { assetId, chainId: 1, contractAddress: contract, symbol: 'USDC', decimals: 6 }
  take(event('asset-usdc@acme', 'AssetRegistered', registered))
  t.equal(symbol(), 'USDC')
  take(event('asset-usdc@acme', 'AssetRemoved', { assetId, chainId: 1, contractAddress: contract }))
  t.equal(symbol(), null)
  t.end()
})

t.test('vouchers, exports and changes of keys are requests; what no policy judges is none', (t) => {
  const { take } = past()
  take(event('mint-mint_1', 'MintRecorded', { mintingType: 'LAZY', tokens: [{ recipient: ALICE }] }))
  const terms = { walletId: 'wal_1', chainId: 1, contract: COLLECTION, requestedAt: NOON }
  matchExactly(t, request(take(event('mint-mint_1', 'VoucherRequested', terms))).intents, [
    { actions: ['nft_mint'], recipient: ALICE.toLowerCase() },
  ])
  matchExactly(
    t,
    request(take(event('export-exp_1', 'WalletExportRequested', { walletId: 'wal_1', requestedAt: NOON }))).intents,
    [{ actions: ['export'] }],
  )
  matchExactly(t, request(take(event('apikey-key_2', 'ApiKeyChanged', { changedAt: NOON }))).intents, [
    { actions: ['api_key_change'] },
  ])
  t.equal(take(event('apikey-key_2', 'ApiKeyIssued', { issuedBy: null, issuedAt: NOON })), null, 'an operator asked')
  t.equal(take(opening({}, 'SwapGuardDeployRequested')), null)
  t.end()
})

t.test('outcomes say what of a transaction still counts', (t) => {
  const { take } = past()
  const outcome = (type: string, data: object | null = null) => take(event('transaction-tx_1', type, data))
  t.match(outcome('TransactionFailed'), { is: 'outcome', id: 'tx_1', kept: 'nothing', isFinal: true })
  t.match(outcome('TransactionReverted'), { kept: 'fee' })
  t.match(outcome('SettlementRevoked'), { kept: 'all', isFinal: false })
  t.match(outcome('TransactionCancelled', { hash: null }), { kept: 'nothing' })
  t.match(outcome('TransactionCancelled', { hash: '0x1' }), { kept: 'fee' })
  t.end()
})

t.test('windows forget what none reaches, and count the rest', (t) => {
  const windows = createWindows()
  const first = Date.parse('2026-01-01T00:00:00.000Z')
  const at = (n: number) => ({
    counter: n % 2 === 0 ? 'old' : 'new',
    bucket: new Date(first + n * 120_000).toISOString(),
  })
  for (let n = 0; n < 50_002; n += 1) windows.count(at(n), 1n)
  const last = {
    ...at(50_001),
    unit: 'ETH',
    decimals: 18,
    windowSeconds: 31 * 86_400,
    limit: 100_000n,
    amount: 0n,
    kept: 0n,
  }
  t.equal(windows.leftAfter(last), 100_000n - BigInt((31 * DAY_MS) / 240_000 + 1))
  t.end()
})

t.end()
