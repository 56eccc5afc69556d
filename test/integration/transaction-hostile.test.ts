/** Transfers to contracts that harm their senders: each ends on its own, and no other transfer waits for it. */
import { randomBytes } from 'node:crypto'
import { AbiCoder, FunctionFragment } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { formatAmount } from '../../src/core/money.ts'
import { transactionAggregate } from '../../src/transactions/aggregate.ts'
import { accepted } from '../support/client.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import type { Fate, RpcCall } from '../support/node-fates.ts'
import { PASS } from '../support/node-lies.ts'
import { openCalls } from '../support/open-calls.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxyBefore } from '../support/service-node-proxy.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'

const MOODY = contractIn(compileSolidity('MoodyRecipient.sol'), 'MoodyRecipient')
const MOODS = { accepts: 0, reverts: 1, loops: 2, drains: 3 } as const
type Mood = keyof typeof MOODS
/** Reasons that `jsonb` cannot store, and what is stored instead. */
const REASONS = [
  ['a NUL', 'no\0thing', 'nothing'],
  ['an emoji at the bound', `${'x'.repeat(511)}😀y`, `${'x'.repeat(511)}😀`],
  ['nothing that can be seen', '\0\u202e', null],
] as const

/** What each of them answers in its own way. */
const MINT = FunctionFragment.getSelector('mint', ['address', 'uint256', 'bytes32'])

const { node, before } = await withNodeProxyBefore(t)
const stage = await withStage(t, { nodes: before, env: { REBROADCAST_AFTER_MS: '600000' } })
const { service, rpc, mine, read, until, settle } = stage

async function deploy(mood: Mood, reason = ''): Promise<string> {
  const args = AbiCoder.defaultAbiCoder().encode(['uint8', 'string'], [MOODS[mood], reason]).slice(2)
  const hash = await rpc('eth_sendTransaction', { from: RICH, data: MOODY.bytecode + args })
  await mine()
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { contractAddress: string }
  return toChecksumAddress(receipt.contractAddress)
}

/** Changes its behaviour in the next block. */
const turn = (to: string, mood: Mood, reason = '') =>
  rpc('eth_sendTransaction', {
    from: RICH,
    to,
    data: MOODY.abi.encodeFunctionData('turn', [MOODS[mood], reason]),
  })

async function pay(wallet: LoadWallet, to: string, amount = '0.001', asset = 'ETH') {
  return service.api.send(`/v1/wallets/${wallet.id}/transfer`, { to, amount, asset })
}

async function sent(wallet: LoadWallet, to: string, amount?: string): Promise<string> {
  return accepted(await pay(wallet, to, amount)).transaction_id
}

t.afterEach(() => {
  node.decide = () => PASS
})

t.test('a recipient that reverts with text that cannot be stored fails only its own transfer', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  for (const [what, reason, kept] of REASONS) {
    const bad = await sent(wallet, await deploy('reverts', reason))
    const good = await sent(wallet, RECIPIENT)
    const { failure } = await until(wallet, bad, 'failed')
    t.strictSame(
      failure,
      { code: 'execution_reverted', message: kept ?? 'The call would revert without a reason.' },
      what,
    )
    await until(wallet, good, 'submitted')
  }
  await settle()
})

t.test('a recipient that reverts in its block fails only its own transfer', async (t) => {
  const [wallet, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const cases: { id: string; to: string; mood: Mood; reason: string; what: string; message: string }[] = []
  for (const [what, reason, kept] of REASONS) {
    for (const mood of ['reverts', 'drains', 'loops'] as const) {
      const message = kept === null || mood === 'loops' ? 'It reverted without a reason.' : kept
      cases.push({ id: '', to: await deploy('accepts'), mood, reason, what, message })
    }
  }
  // No block is mined from here on until all are submitted.
  for (const one of cases) one.id = (await openCalls(service.kernel, wallet, { to: one.to, data: MINT }))[0] ?? ''
  const good = await sent(other, RECIPIENT)
  await until(other, good, 'submitted')
  for (const { id } of cases) await until(wallet, id, 'submitted')
  // The behaviour changes in a block before theirs, so that the reasons can be read.
  await rpc('anvil_dropAllTransactions')
  for (const { to, mood, reason } of cases) await turn(to, mood, reason)
  await mine()
  for (const { state } of await service.kernel.log.loadMany(transactionAggregate, [good, ...cases.map(({ id }) => id)]))
    await rpc('eth_sendRawTransaction', (state.state === 'submitted' && state.attempts[0]?.rawTransaction) || '')
  await settle()
  t.equal((await read(other, good)).state, 'confirmed')
  for (const { id, mood, what, message } of cases) {
    const { state, failure } = await read(wallet, id)
    t.strictSame(
      { state, failure },
      { state: 'reverted', failure: { code: 'execution_reverted', message } },
      `${mood}: ${what} is reverted`,
    )
  }
})

const estimates = (to: string) => (call: RpcCall) =>
  call.method === 'eth_estimateGas' && JSON.stringify(call.params).includes(to)

t.test('a transfer that a node cannot simulate waits alone, and is signed once a node can', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const [bad, good] = [await deploy('accepts'), await deploy('accepts')]
  const says = (message: string): Fate => ({
    type: 'answer',
    method: 'eth_estimateGas',
    only: estimates(bad),
    answer: { error: { code: -32000, message } },
  })
  const fates: readonly Fate[] = [
    says('execution aborted'),
    says('Internal error'),
    says('unknown trap'),
    { type: 'silence before' },
  ]
  for (const fate of fates) {
    node.decide = (calls) => (calls.some(estimates(bad)) ? fate : PASS)
    const first = await sent(wallet, bad)
    const others = [await sent(wallet, good), await sent(wallet, RECIPIENT)]
    for (const id of others) await until(wallet, id, 'submitted')
    t.match(await read(wallet, first), { state: 'requested', failure: null })
    node.decide = () => PASS
    await until(wallet, first, 'submitted')
  }
  t.ok(service.lines.some(({ msg }) => msg === 'cannot simulate a transaction; will retry'))
  await settle()
})

t.test('a recipient that uses up all gas fails only its own transfer, at its gas limit', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const bad = await sent(wallet, await deploy('loops'))
  t.match(await until(wallet, bad, 'failed'), { failure: { code: 'execution_reverted' } })
})

t.test('a replica that has not seen the balance does not fail what was accepted on it', async (t) => {
  const to = await deploy('accepts')
  await mine(5)
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  let asked = 0
  node.decide = (calls) => {
    if (!calls.some(estimates(to))) return PASS
    asked += 1
    return { type: 'behind', blocks: 5 }
  }
  const id = await sent(wallet, to, '999')
  await eventually(async () => (asked > 2 ? true : null))
  t.match(await read(wallet, id), { state: 'requested', failure: null })
  node.decide = () => PASS
  await until(wallet, id, 'submitted')
  await settle()
})

t.test('gas for a recipient with code is reserved: preview and request agree on what can be paid', async (t) => {
  const contract = await deploy('accepts')
  const delegated = toChecksumAddress(`0x${randomBytes(20).toString('hex')}`)
  await rpc('anvil_setCode', delegated, `0xef0100${contract.slice(2)}`)
  for (const to of [contract, delegated]) {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const preview = async (amount: string) =>
      (
        await service.api.insist({
          method: 'POST',
          path: `/v1/wallets/${wallet.id}/transfer/preview`,
          body: { to, amount, asset: 'ETH' },
        })
      ).body.data
    const feePerGas = BigInt((await preview('1')).fee.medium.max_fee_per_gas_wei)
    const allBut = (gas: bigint) => formatAmount(10n ** 21n - gas * feePerGas, 18)
    t.match(await preview(allBut(50_000n)), { would_succeed: false, reason: 'insufficient_funds' })
    matchExactly(t, await pay(wallet, to, allBut(50_000n)), {
      status: 422,
      body: { errors: [{ code: 'insufficient_funds' }] },
    })
    const one = await sent(wallet, to, '0.000000000000000001')
    await settle()
    t.equal((await read(wallet, one)).state, 'confirmed')
    const rest = allBut(300_000n)
    t.match(await preview(rest), { would_succeed: true })
    const most = await sent(wallet, to, rest)
    await settle()
    t.equal((await read(wallet, most)).state, 'confirmed')
  }
})

t.test('a preview agrees with the request for a recipient that needs more gas than is held', async (t) => {
  for (const gas of [110_000, 190_000]) {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const to = toChecksumAddress(`0x${randomBytes(20).toString('hex')}`)
    // PUSH2 rounds; JUMPDEST; subtract 1; jump back until 0: 26 gas for each round.
    const rounds = Math.floor((gas - 21_000) / 26)
      .toString(16)
      .padStart(4, '0')
    await rpc('anvil_setCode', to, `0x61${rounds}5b600190038060035700`)
    const body = { to, amount: '0.000001', asset: 'ETH' }
    const path = `/v1/wallets/${wallet.id}/transfer/preview`
    const { fee } = (await service.api.insist({ method: 'POST', path, body })).body.data
    const amount = formatAmount(10n ** 21n - 101_000n * BigInt(fee.medium.max_fee_per_gas_wei), 18)
    const all = await service.api.insist({ method: 'POST', path, body: { ...body, amount } })
    t.match(all.body.data, { would_succeed: true, reason: null })
    const id = await sent(wallet, to, amount)
    await settle()
    t.equal((await read(wallet, id)).state, 'confirmed', `${gas} gas`)
  }
})

t.end()
