/** Batches of transfers through the whole service: all are accepted or none, and each is a transaction of its own. */
import { randomBytes } from 'node:crypto'
import { AbiCoder } from 'ethers/abi'
import t from 'tap'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import type { ApiRequest } from '../support/client.ts'
import { RICH } from '../support/followed-chain.ts'
import type { LoadWallet } from '../support/load.ts'
import { BUT_BALANCES } from '../support/log.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'
import { compileSolidity, contractIn } from '../support/solidity.ts'
import { startVictimApi } from '../support/victims.ts'

const ODD = contractIn(compileSolidity('OddToken.sol'), 'OddToken')
const OTHER = '0x00000000000000000000000000000000b0b5ade1'
const FUNDS = 10n ** 7n

const stage = await withStage(t, { env: { QUOTA_TRANSACTIONS_WAITING: '150' } })
const { service, rpc, mine, settle } = stage
const token = await registerToken()

async function minedCall(to: string | null, data: string): Promise<string> {
  const hash = await rpc('eth_sendTransaction', { from: RICH, data, ...(to === null ? {} : { to }) })
  await mine()
  const receipt = (await eventually(() => rpc('eth_getTransactionReceipt', hash))) as { contractAddress: string | null }
  return receipt.contractAddress ?? ''
}

async function registerToken(): Promise<string> {
  const args = AbiCoder.defaultAbiCoder().encode(['uint8'], [6]).slice(2)
  const contract = toChecksumAddress(await minedCall(null, ODD.bytecode + args))
  const body = { network: 'ethereum', environment: 'mainnet', contract_address: contract }
  const { status } = await service.api.insist({ method: 'POST', path: '/v1/assets', key: contract, body })
  if (status !== 201) throw new Error(`the token was not registered: ${status}`)
  return contract
}

/** A wallet with 1,000 ETH and 10 of the token, as recorded by the service. */
async function holder(): Promise<LoadWallet> {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await minedCall(token, ODD.abi.encodeFunctionData('mint', [wallet.address, FUNDS]))
  const values = [wallet.id, FUNDS.toString()]
  await eventually(
    async () =>
      (await service.pool.query('SELECT FROM balances WHERE wallet_id = $1 AND balance = $2', values)).rowCount || null,
  )
  return wallet
}

type Item = Readonly<Record<string, string>>
type Sent = { readonly transaction_id: string; readonly hash: string | null; readonly reference_id: string | null }

function requestOf(wallet: LoadWallet, items: readonly Item[], more: object = {}): ApiRequest {
  const key = randomBytes(8).toString('hex')
  return { method: 'POST', path: `/v1/wallets/${wallet.id}/transfers`, key, body: { items, ...more } }
}

const send = (wallet: LoadWallet, items: readonly Item[], more: object = {}) =>
  service.api.insist(requestOf(wallet, items, more))

const address = (n: number) => `0x${(0xb0b5n * 2n ** 32n + BigInt(n)).toString(16).padStart(40, '0')}`
const eth = (amount: string, more: Item = {}): Item => ({ to: RECIPIENT, amount, asset: 'ETH', ...more })
const odd = (amount: string): Item => ({ to: OTHER, amount, asset: token })

async function idsOf(wallet: LoadWallet): Promise<string[]> {
  const { rows } = await service.pool.query<{ id: string }>(
    'SELECT transaction_id AS id FROM transactions WHERE wallet_id = $1 ORDER BY transaction_id',
    [wallet.id],
  )
  return rows.map(({ id }) => id)
}

const recorded = async (wallet: LoadWallet) => (await idsOf(wallet)).length

t.test('the items become transactions of their own, in order, with one key', async (t) => {
  const wallet = await holder()
  const items = [eth('0.1', { reference_id: 'a', gas_priority: 'high' }), odd('2.5'), eth('0.2', { reference_id: 'a' })]
  const request = { ...requestOf(wallet, items, { gas_priority: 'low' }), prefer: 'wait=60' }
  const { status, body } = await service.api.insist(request)
  t.equal(status, 202)
  const transactions = body.data.transactions as readonly Sent[]
  matchExactly(t, body.data, {
    batch_id: /^batch_/,
    transactions: [
      { status: 'pending', hash: /^0x/, to: toChecksumAddress(RECIPIENT), amount: '0.1', reference_id: 'a' },
      { hash: /^0x/, to: toChecksumAddress(OTHER), amount: '2.5', reference_id: null },
      { hash: /^0x/, amount: '0.2', asset: 'ETH', reference_id: 'a' },
    ],
  })
  await settle()
  const ids = transactions.map(({ transaction_id: id }) => id)
  const subject = { type: 'transfer_batch', id: body.data.batch_id }
  matchExactly(t, await Promise.all(ids.map((id) => stage.read(wallet, id))), [
    { status: 'confirmed', nonce: 0, gas_priority: 'high', subject },
    { status: 'confirmed', nonce: 1, gas_priority: 'low', subject },
    { status: 'confirmed', nonce: 2, subject },
  ])
  const again = await service.api.insist(request)
  t.strictSame([again.status, again.headers['idempotency-replayed']], [202, 'true'])
  t.strictSame(again.body.data.batch_id, body.data.batch_id)
  t.strictSame(
    again.body.data.transactions.map(({ transaction_id: id, hash }: Sent) => [id, hash]),
    transactions.map(({ transaction_id: id, hash }) => [id, hash]),
  )
  const changed = await service.api.insist({ ...request, body: { items } })
  matchExactly(t, [changed.status, changed.body.errors?.[0]?.code], [422, 'idempotency_key_reused'])
  t.equal((await onChain(stage, wallet)).length, 3)
})

t.test('each mistake names its item, and nothing is recorded', async (t) => {
  const wallet = await holder()
  const bad = [
    eth('1'),
    eth('0', { to: '0x0000000000000000000000000000000000000000' }),
    { to: OTHER, amount: '0.0000001', asset: token },
    eth('1', { asset: 'NONE', valid_until: '2020-01-01T00:00:00Z' }),
  ]
  const { status, body } = await send(wallet, bad)
  t.equal(status, 422)
  t.strictSame(
    body.errors?.map(({ field, code }) => `${field} ${code}`).toSorted(),
    [
      'items[1].amount amount_zero',
      'items[1].to zero_address',
      'items[2].amount too_many_decimals',
      'items[3].asset unknown_asset',
      'items[3].valid_until expired',
    ].toSorted(),
  )
  const late = await send(wallet, [eth('1'), eth('1')], { valid_until: '2020-01-01T00:00:00Z' })
  matchExactly(t, [late.status, late.body.errors?.map(({ field }) => field)], [422, ['valid_until']])
  for (const items of [[], Array.from({ length: 101 }, () => eth('0.001'))]) {
    const { status: refused, body: answer } = await send(wallet, items)
    matchExactly(t, [refused, answer.errors?.[0]?.field], [422, 'items'])
  }
  t.equal(await recorded(wallet), 0)
})

t.test('a batch that is one base unit too large is refused with its total', async (t) => {
  const wallet = await holder()
  const { status, body } = await send(wallet, [odd('4'), eth('1'), odd('6.000001')])
  matchExactly(
    t,
    [status, body.errors],
    [422, [{ code: 'insufficient_funds', details: { asset: 'ODD', available: '10', needed: '10.000001' } }]],
  )
  const native = await send(wallet, [eth('600'), odd('1'), eth('400')])
  matchExactly(
    t,
    [native.status, native.body.errors],
    [422, [{ code: 'insufficient_funds', details: { asset: 'ETH' } }]],
  )
  t.equal(await recorded(wallet), 0)
  t.equal((await send(wallet, [odd('4'), odd('6')])).status, 202, 'the whole balance can be sent')
  await settle()
})

t.test('of batches and transfers at the same time, only what the wallet can pay is accepted', async (t) => {
  const wallet = await holder()
  const other = await service.startApi()
  const single: ApiRequest = { ...requestOf(wallet, []), path: `/v1/wallets/${wallet.id}/transfer`, body: odd('6') }
  const answers = await Promise.all([
    service.api.insist(requestOf(wallet, [odd('3'), odd('3')])),
    other.insist(requestOf(wallet, [odd('2'), odd('2'), odd('2')])),
    service.api.insist(single),
  ])
  t.strictSame(answers.map(({ status }) => status).toSorted(), [202, 422, 422])
  await settle()
  const { rows } = await service.pool.query('SELECT sum(held)::text AS held FROM wallet_holds WHERE wallet_id = $1', [
    wallet.id,
  ])
  t.equal(rows[0]?.held, '0')
})

t.test('while a request waits for hashes, other processes answer its key with the same batch', async (t) => {
  const wallet = await holder()
  const other = await service.startApi()
  await service.stopWorker('signer')
  const request = requestOf(wallet, [eth('0.1'), eth('0.2')])
  const lost = service.api.once({ ...request, prefer: 'wait=60' })
  await eventually(async () => (await recorded(wallet)) === 2 || null)
  const repeated = await Promise.all([1, 2, 3].map(() => other.insist({ ...request, prefer: 'respond-async' })))
  const batches = new Set(repeated.map(({ body }) => JSON.stringify(body.data)))
  t.equal(batches.size, 1)
  t.ok(repeated.every(({ headers }) => headers['idempotency-replayed'] === 'true'))
  await service.startWorker('signer')
  t.equal((await lost).body.data.batch_id, repeated[0]?.body.data.batch_id)
  await settle()
  t.equal((await onChain(stage, wallet)).length, 2)
})

t.test('a batch whose process is killed before its answer is sent once when its key is repeated', async (t) => {
  for (const [moment, least] of [['before', 1] as const, ['after', 4] as const]) {
    const wallet = await holder()
    const dying = await startVictimApi(t, service)
    await dying.victim.arm({ moment, step: 'append TransferRequested' }).armed
    const amounts = [least, least + 1, least + 2]
    const items = amounts.map((amount) => eth(`0.${amount}`))
    const request = requestOf(wallet, items)
    const lost = dying.api.once(request).then(
      () => 'answered',
      () => 'lost',
    )
    t.strictSame([await dying.victim.ended, await lost], [true, 'lost'], moment)
    const accepted = await idsOf(wallet)
    t.equal(accepted.length, moment === 'after' ? 3 : 0, 'all of the batch is recorded, or nothing')
    const restarted = await startVictimApi(t, service)
    const [first, second] = await Promise.all([restarted.api.insist(request), restarted.api.insist(request)])
    t.strictSame([first.status, second.status], [202, 202])
    const ids = first.body.data.transactions.map(({ transaction_id: id }: Sent) => id)
    t.strictSame(ids, await idsOf(wallet))
    if (moment === 'after') t.strictSame(ids, accepted, 'the transactions of the lost answer')
    t.equal(second.body.data.batch_id, first.body.data.batch_id)
    await settle()
    const sent = (await onChain(stage, wallet)).map(({ amount }) => Number(amount / 10n ** 17n))
    t.strictSame(sent, amounts, 'each amount is on chain once')
  }
})

t.test('watch-only and archived wallets are refused', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const watch = await service.api.insist({
    method: 'POST',
    path: '/v1/wallets/watch',
    body: { network: 'ethereum', address: OTHER },
  })
  const watched = { ...wallet, id: watch.body.data.wallet_id }
  matchExactly(t, (await send(watched, [eth('1')])).body.errors, [{ field: 'wallet_id', code: 'watch_only' }])
  await service.api.insist({ method: 'DELETE', path: `/v1/wallets/${wallet.id}?force=true` })
  const archived = await send(wallet, [eth('1')])
  matchExactly(t, [archived.status, archived.body.errors], [409, [{ code: 'wallet_archived' }]])
})

t.test('100 items are accepted at once, and each counts for the quota', async (t) => {
  const wallet = await holder()
  const hundred = Array.from({ length: 100 }, (_, n) => ({
    to: address(n),
    amount: `0.${String(n + 1).padStart(4, '0')}`,
    asset: 'ETH',
    memo: '🧾'.repeat(128),
    reference_id: `payroll-${n}`,
  }))
  const request = { ...requestOf(wallet, hundred), prefer: 'respond-async' }
  const { status, body } = await service.api.insist(request)
  t.equal(status, 202)
  t.strictSame(
    body.data.transactions.map(({ reference_id: reference }: Sent) => reference),
    hundred.map(({ reference_id: reference }) => reference),
  )
  const more = await service.api.once(requestOf(wallet, hundred.slice(0, 51)))
  matchExactly(t, [more.status, more.body.errors?.[0]?.code], [429, 'quota_transactions_waiting'])
  t.equal(await recorded(wallet), 100)
  const again = await service.api.once(request)
  t.strictSame([again.status, again.headers['idempotency-replayed']], [202, 'true'])
  await settle()
  const mined = await onChain(stage, wallet)
  t.strictSame(
    mined.map(({ amount }) => amount),
    hundred.map(({ amount }) => BigInt(amount.slice(2)) * 10n ** 14n),
    'each once, in the order of the items',
  )
})

t.test('a batch of 100 takes as many requests to a node as a batch of one', async (t) => {
  const proxy = await withNodeProxy(t, stage.url)
  const trips: string[][] = []
  proxy.decide = (calls) => {
    trips.push(calls.map(({ method }) => method))
    return { type: 'pass' }
  }
  // A separate process: the workers do not use this node.
  const { api } = await startVictimApi(t, service, { ETHEREUM_RPC_URLS: proxy.url })
  const wallet = await holder()
  const tripsOf = async (recipients: number[]) => {
    trips.length = 0
    const items = recipients.map((n) => eth('0.001', { to: address(n) }))
    t.equal((await api.insist({ ...requestOf(wallet, items), prefer: 'respond-async' })).status, 202)
    return { all: trips.length, code: trips.filter((methods) => methods.includes('eth_getCode')).length }
  }
  const single = await tripsOf([1_000])
  const batch = await tripsOf(Array.from({ length: 100 }, (_, n) => 2_000 + n))
  t.strictSame([single.code, batch.code], [1, 1])
  // Fees that were read some time ago are read again.
  t.ok(batch.all <= single.all + 1, `${batch.all} requests, ${single.all} for a single one`)
  await settle()
})

t.test('the read models are those of the log', async (t) => {
  t.strictSame((await compareLive(service.pool, LOG_CONTENTS, { tables: BUT_BALANCES })).differences, [])
})

t.end()
