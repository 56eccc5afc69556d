/**
 * Calls that depend on other transactions: signed in order after those have succeeded, and failed unsigned if they have
 * not.
 */
import t from 'tap'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type OpenCall, openCalls } from '../support/open-calls.ts'
import { deployRegister } from '../support/register.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'

// The sweeper runs too late to help: a lane is woken by the event that it waits for.
const stage = await withStage(t, { env: { SWEEP_INTERVAL_MS: '600000' } })
const { service, mine, send, read, until, settle } = stage
const { kernel, api } = service

const open = (wallet: LoadWallet, ...calls: readonly OpenCall[]) => openCalls(kernel, wallet, ...calls)

const statesOf = async (wallet: LoadWallet, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await read(wallet, id)).state))

t.test('dependents of a transaction are signed once it is mined, in order, without delaying others', async (t) => {
  const register = await deployRegister(stage.url)
  const { address: to, enter } = register
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const ids = await open(
    wallet,
    { to, data: enter(1) },
    { to, data: enter(2, 1), dependsOn: 0 },
    { to, data: enter(3, 1), dependsOn: 0 },
    { to, data: enter(4, 3), dependsOn: 2 },
  )
  const [first, second, third, fourth] = ids as [string, string, string, string]
  const transfer = await send(wallet, '0.000001')
  t.match(await until(wallet, first, 'submitted'), { nonce: 0, type: 'CONTRACT', to, amount: '0', asset: 'ETH' })
  t.match(await until(wallet, transfer, 'submitted'), { nonce: 1 })
  t.strictSame(await statesOf(wallet, [second, third, fourth]), ['requested', 'requested', 'requested'])
  await mine()
  t.match(await until(wallet, second, 'submitted'), {
    nonce: 2,
    depends_on: first,
  })
  t.match(await until(wallet, third, 'submitted'), { nonce: 3 })
  t.match(await read(wallet, fourth), { state: 'requested', nonce: null, hash: null })
  await settle()
  t.strictSame(await statesOf(wallet, [...ids, transfer]), Array(5).fill('confirmed'))
  t.strictSame(await register.entries(), [1, 2, 3, 4])
  const { body } = await api.insist({ path: `/v1/wallets/${wallet.id}/transactions?type=CONTRACT` })
  t.strictSame(
    body.data.transactions.map((one: { transaction_id: string }) => one.transaction_id),
    ids.toReversed(),
  )
})

t.test('dependents of a reverted transaction fail unsigned once it is final', async (t) => {
  const register = await deployRegister(stage.url)
  const { address: to, enter } = register
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const ids = await open(
    wallet,
    { to, data: enter(1) },
    { to, data: enter(2), dependsOn: 0 },
    { to, data: enter(3), dependsOn: 1 },
  )
  const [first, second, third] = ids as [string, string, string]
  await until(wallet, first, 'submitted')
  await register.close()
  await mine()
  await until(wallet, first, 'mined')
  const transfer = await send(wallet, '0.000001')
  await until(wallet, transfer, 'submitted')
  t.strictSame(await statesOf(wallet, [second, third]), ['requested', 'requested'])
  await mine()
  matchExactly(t, await until(wallet, second, 'failed'), {
    hashes: [],
    failure: { code: 'dependency_failed', message: new RegExp(`^It depends on ${first}, which ended as reverted: `) },
  })
  t.match(await until(wallet, third, 'failed'), {
    failure: { code: 'dependency_failed', message: `It depends on ${second}, which ended as failed.` },
  })
  await settle()
  t.match(await read(wallet, first), { state: 'reverted', failure: { code: 'execution_reverted' } })
  t.strictSame(
    (await onChain(stage, wallet)).map(({ nonce }) => nonce),
    [0, 1],
  )
  const { rows } = await service.pool.query('SELECT held FROM wallet_holds WHERE wallet_id = $1', [wallet.id])
  t.equal(rows[0].held, '0')
})

t.test('a dependency in another lane wakes its dependent, and its cancellation fails it', async (t) => {
  const { address: to, enter } = await deployRegister(stage.url)
  const [one, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const [good, bad] = (await open(one, { to, data: enter(1) }, { to, data: enter(2) })) as [string, string]
  await until(one, bad, 'submitted')
  const [behindGood] = (await open(other, { to, data: enter(3, 1), dependsOn: good })) as [string]
  const [behindBad] = (await open(other, { to, data: enter(4), dependsOn: bad })) as [string]
  const [unsigned] = (await open(one, { to, data: enter(5), dependsOn: behindBad })) as [string]
  const cancelling = await api.insist({
    method: 'POST',
    path: `/v1/wallets/${one.id}/transactions/${bad}/cancel`,
    key: 'c',
  })
  t.equal(cancelling.status, 202)
  await eventually(async () => {
    const { hashes, state } = await read(one, bad)
    return hashes.length === 2 && state === 'submitted'
  })
  t.strictSame(await statesOf(other, [behindGood, behindBad]), ['requested', 'requested'])
  await mine()
  await until(other, behindGood, 'submitted')
  await until(one, bad, 'cancelling')
  t.strictSame(await statesOf(other, [behindBad]), ['requested'], 'another block may still have what it waits for')
  await mine()
  t.match(await until(other, behindBad, 'failed'), {
    failure: { message: `It depends on ${bad}, which ended as cancelled.` },
  })
  await until(one, unsigned, 'failed')
  await settle()
  t.match(await read(other, behindGood), { state: 'confirmed' })
})

t.test('a call is cancelled while it waits, and sped up once it is sent', async (t) => {
  const register = await deployRegister(stage.url)
  const { address: to, enter } = register
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const ids = await open(
    wallet,
    { to, data: enter(1) },
    { to, data: enter(2), dependsOn: 0 },
    { to, data: enter(3), dependsOn: 1 },
  )
  const [first, second, third] = ids as [string, string, string]
  await until(wallet, first, 'submitted')
  const ask = (id: string, what: string, body = {}) =>
    api.insist({
      method: 'POST',
      path: `/v1/wallets/${wallet.id}/transactions/${id}/${what}`,
      key: `${id}-${what}`,
      body,
    })
  t.match((await ask(second, 'cancel')).body.data, { state: 'cancelled', hash: null })
  t.match(await until(wallet, third, 'failed'), { failure: { code: 'dependency_failed' } })
  await ask(first, 'speed-up', { gas_priority: 'high' })
  await eventually(async () => (await read(wallet, first)).hashes.length === 2)
  await settle()
  const { hashes, state } = await read(wallet, first)
  t.match({ hashes: hashes.length, state }, { hashes: 2, state: 'confirmed' })
  t.strictSame(await register.entries(), [1])
})

t.end()
