/**
 * Payments of equal amounts to one recipient: by requests, by requests that the database has forgotten, and by another
 * program with the key of the wallet. Each request has its own transaction on chain, and none has two.
 */
import t, { type Test } from 'tap'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { runCommandLine } from '../support/cli.ts'
import { accepted } from '../support/client.ts'
import type { LoadWallet } from '../support/load.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, RECIPIENT, withStage } from '../support/service-stage.ts'
import { keyOf } from '../support/wallet-key.ts'

const CHAIN_ID = 1000001
const AMOUNT = '0.001'
const WEI = 10n ** 15n
const server = await withLosableServer(t)
const stage = await withStage(t, { databaseUrl: server.url, env: { RPC_TIMEOUT_MS: '60000' } })
const { service, rpc } = stage

async function pay(wallet: LoadWallet, key: string, amount = AMOUNT, api = service.api): Promise<string> {
  const body = { to: RECIPIENT, amount, asset: 'ETH' }
  return accepted(await api.send(`/v1/wallets/${wallet.id}/transfer`, body, key)).transaction_id
}

/** Another program pays the same with the key of the wallet. */
async function payOutside(wallet: LoadWallet, fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 10n }) {
  const nonce = Number(await rpc('eth_getTransactionCount', wallet.address, 'latest'))
  const transaction = { type: 2, chainId: CHAIN_ID, nonce, to: RECIPIENT, value: WEI, gasLimit: 21_000n, ...fees }
  const raw = await (await keyOf(service, wallet.id)).signTransaction(transaction)
  return String(await rpc('eth_sendRawTransaction', raw))
}

async function explain(id: string): Promise<string> {
  const commands = await bursarCommands({ ...service.env, DATABASE_URL: service.urlAs('operator') })
  return (await runCommandLine(commands, `explain ${id}`)).out
}

async function reconcile(words: string) {
  const commands = await bursarCommands({ ...service.env, DATABASE_URL: service.urlAs('signer') })
  return runCommandLine(commands, `reconcile ${words}`)
}

/** Each is confirmed with a transaction of its own, and the chain has as many payments as expected. */
async function paidApart(t: Test, wallet: LoadWallet, ids: readonly string[], payments: number): Promise<void> {
  await stage.settle()
  const hashes = new Set<string | null>()
  for (const id of ids) {
    const view = await stage.read(wallet, id)
    t.equal(view.state, 'confirmed', `${id} is confirmed`)
    hashes.add(view.hash)
  }
  t.equal(hashes.size, ids.length, 'no two requests have one transaction')
  const made = (await onChain(stage, wallet)).filter(({ amount }) => amount === WEI)
  t.equal(made.length, payments, `${payments} payments are on chain`)
  for (const hash of hashes)
    t.ok(
      made.some((one) => one.hash === hash),
      `${hash} is one of them`,
    )
}

async function putBack(copy: string, wallet: LoadWallet): Promise<void> {
  await server.kill()
  await server.restore(copy)
  await eventually(async () => (await service.api.insist({ path: `/v1/wallets/${wallet.id}` })).status === 200)
}

t.test('an equal payment that another program made before is not taken for the request', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await payOutside(wallet)
  await stage.mine()
  const ids = [await pay(wallet, 'after-outside-1'), await pay(wallet, 'after-outside-2')]
  await paidApart(t, wallet, ids, 3)
  for (const id of ids) t.notMatch(await explain(id), /had lost this record/)
})

t.test('an equal payment that took the nonce of the request is not taken for it', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  await service.stopWorker('submitter')
  const id = await pay(wallet, 'lost-nonce')
  await stage.until(wallet, id, 'signed')
  const foreign = await payOutside(wallet)
  await stage.mine()
  await service.startWorker('submitter')
  await paidApart(t, wallet, [id], 2)
  t.not((await stage.read(wallet, id)).hash, foreign)
  t.match(await explain(id), /does the same, but its fees do not have the tag of this request/)
})

t.test('after a restore that forgot equal payments, new requests are paid and repeated ones are not', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const kept = await Promise.all([0, 1, 2].map((n) => pay(wallet, `kept-${n}`)))
  await stage.settle()
  await service.stopWorker('signer')
  const waiting = await Promise.all([0, 1].map((n) => pay(wallet, `waiting-${n}`)))
  const copy = await server.copy()
  const forgotten = await Promise.all([0, 1, 2, 3].map((n) => pay(wallet, `forgotten-${n}`)))
  await service.startWorker('signer')
  for (const id of [...waiting, ...forgotten]) await stage.until(wallet, id, 'submitted')
  await stage.mine()
  for (const id of [...waiting, ...forgotten]) await stage.until(wallet, id, 'mined')
  await putBack(copy, wallet)
  const repeated = await Promise.all([0, 1].map((n) => pay(wallet, `forgotten-${n}`)))
  const fresh = await Promise.all([0, 1, 2].map((n) => pay(wallet, `fresh-${n}`)))
  await paidApart(t, wallet, [...kept, ...waiting, ...repeated, ...fresh], 9 + 3)
  for (const id of repeated) t.match(await explain(id), /had lost this record/)
})

t.test('requests accepted with a clock that is an hour ahead, or behind, are paid once after a restore', async (t) => {
  for (const aheadMs of [3_600_000, -3_600_000]) {
    const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
    const api = await service.startApi(aheadMs)
    await service.stopWorker('signer')
    const ids = await Promise.all([0, 1, 2].map((n) => pay(wallet, `clock-${aheadMs}-${n}`, AMOUNT, api)))
    const copy = await server.copy()
    await service.startWorker('signer')
    for (const id of ids) await stage.until(wallet, id, 'submitted')
    await stage.mine()
    for (const id of ids) await stage.until(wallet, id, 'mined')
    await putBack(copy, wallet)
    await paidApart(t, wallet, ids, 3)
  }
})

t.test('a key that is used for something else after a restore is held until an operator decides', async (t) => {
  const [wallet] = (await service.makeWallets(1)) as [LoadWallet]
  const copy = await server.copy()
  const first = await pay(wallet, 'used-twice')
  await stage.until(wallet, first, 'submitted')
  await stage.mine()
  const { hash: taken } = await stage.until(wallet, first, 'mined')
  await putBack(copy, wallet)
  const second = await pay(wallet, 'used-twice', '0.002')
  const beside = await pay(wallet, 'beside')
  await stage.until(wallet, beside, 'submitted')
  t.match(await stage.read(wallet, second), { state: 'requested' }, 'others do not wait for it')
  const told = await reconcile(`ethereum ${wallet.address}`)
  t.match(told, { code: 1, out: /has the tag of this request and does something else/ })
  t.match(await reconcile(`--claim ${second} --hash ${taken}`), {
    code: 1,
    err: /does something else than this request/,
  })
  t.match(await reconcile(`--new ${beside} --hash ${taken}`), { code: 1, err: /is not held/ })
  t.match(await reconcile(`--new ${second} --hash ${taken}`), { code: 0, out: /is not tx_.*, which is signed now/ })
  await stage.settle()
  t.match(await stage.read(wallet, second), { state: 'confirmed' })
  t.match(await explain(second), /an operator decided/)
})

t.test('a signer with another key of tags does not start', async (t) => {
  await service.stopWorker('signer')
  const { kernel } = service
  const other = { ...kernel, config: { ...kernel.config, tagKeys: [Buffer.alloc(32, 9)] } }
  const { startSigner } = await import('../../src/compose/signer.ts')
  await t.rejects(startSigner(other, AbortSignal.timeout(60_000)), { code: 'tag_key_wrong' })
  await t.rejects(startSigner({ ...kernel, config: { ...kernel.config, tagKeys: [] } }, AbortSignal.timeout(60_000)), {
    code: 'tag_key_missing',
  })
  await service.startWorker('signer')
})

t.end()
