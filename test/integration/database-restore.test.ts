/**
 * A database that was put back to an earlier state while its processes live: signed transactions that it has forgotten are on
 * chain, or in the pools of nodes. Each transfer is paid once all the same.
 */
import t, { type Test } from 'tap'
import { goldenShares } from '../support/golden-shares.ts'
import type { LoadWallet } from '../support/load.ts'
import { type MpcWallet, withMpcStage } from '../support/mpc-stage.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain } from '../support/service-stage.ts'

const server = await withLosableServer(t)
const stage = await withMpcStage(t, { databaseUrl: server.url, keys: [goldenShares(2, 3)] })
const { service } = stage

/** Sends transfers of one amount each, so that each is known on chain by its amount. */
let amounts = 0
async function send(wallet: LoadWallet): Promise<{ id: string; wei: bigint }> {
  amounts += 1
  return { id: await stage.send(wallet, `0.${String(amounts).padStart(6, '0')}`), wei: BigInt(amounts) * 10n ** 12n }
}

const [joint] = stage.wallets as [MpcWallet]
const [payer, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]

/** The database as it was when it was copied; every process lives on. */
async function putBack(copy: string): Promise<void> {
  await server.kill()
  await server.restore(copy)
  await eventually(async () => (await service.api.insist({ path: `/v1/wallets/${payer.id}` })).status === 200)
}

type Sent = { readonly wallet: LoadWallet; readonly id: string; readonly wei: bigint }

async function sendFrom(wallet: LoadWallet): Promise<Sent> {
  return { wallet, ...(await send(wallet)) }
}

/** Accepted, and waiting for a signer that does not run. */
async function waiting(): Promise<Sent[]> {
  await service.stopWorker('signer')
  const all: Sent[] = []
  for (const wallet of [payer, payer, payer, other, joint, joint, joint]) all.push(await sendFrom(wallet))
  return all
}

async function paidOnce(t: Test, all: readonly Sent[]): Promise<void> {
  await stage.settle()
  for (const { wallet, id, wei } of all) {
    const payments = (await onChain(stage, wallet)).filter(({ amount }) => amount === wei)
    t.equal(payments.length, 1, `${id} is paid once`)
    t.match(await stage.read(wallet, id), { state: 'confirmed', hash: payments[0]?.hash })
  }
}

t.test('a transfer whose signature was forgotten is paid once when the chain has it', async (t) => {
  const early = await sendFrom(payer)
  await stage.settle()
  const all = await waiting()
  const copy = await server.copy()
  await service.startWorker('signer')
  for (const { wallet, id } of all) await stage.until(wallet, id, 'submitted')
  await stage.mine()
  for (const { wallet, id } of all) await stage.until(wallet, id, 'mined')
  await putBack(copy)
  await paidOnce(t, [early, ...all])
  t.equal((await onChain(stage, payer)).length, 4, 'and nothing else')
  t.equal((await onChain(stage, joint)).length, 3)
})

t.test('a transfer whose signature was forgotten waits for what a pool has', async (t) => {
  const all = await waiting()
  const copy = await server.copy()
  await service.startWorker('signer')
  for (const { wallet, id } of all) await stage.until(wallet, id, 'submitted')
  await service.stopWorker('signer')
  await putBack(copy)
  // Another order than the first one, had nobody looked.
  await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${payer.id}/transactions/${all[0]?.id}/cancel`,
    key: 'cancel-forgotten',
  })
  await service.startWorker('signer')
  await eventually(() => service.lines.some(({ msg }) => String(msg).startsWith('a lane is held')))
  await paidOnce(t, all.slice(1))
  t.equal((await onChain(stage, payer)).length, 7)
})

t.test('a cancellation that was forgotten is what its transfer came to', async (t) => {
  const one = await sendFrom(payer)
  await stage.until(one.wallet, one.id, 'submitted')
  const copy = await server.copy()
  await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${payer.id}/transactions/${one.id}/cancel`,
    key: 'cancel-it',
  })
  await eventually(async () => (await stage.read(payer, one.id)).hashes.length === 2)
  await stage.until(payer, one.id, 'submitted')
  await stage.mine()
  await stage.until(payer, one.id, 'cancelled')
  await putBack(copy)
  await stage.settle()
  t.equal((await stage.read(payer, one.id)).state, 'cancelled')
  t.strictSame(
    (await onChain(stage, payer)).filter(({ amount }) => amount === one.wei),
    [],
    'it was never paid',
  )
})

t.test('a signature of a request that was forgotten, and that nobody has, keeps no nonce from others', async (t) => {
  const copy = await server.copy()
  await service.stopWorker('submitter')
  for (const wallet of [payer, joint]) {
    const { id } = await sendFrom(wallet)
    await stage.until(wallet, id, 'signed')
  }
  await putBack(copy)
  await service.startWorker('submitter')
  await paidOnce(t, [await sendFrom(payer), await sendFrom(joint)])
})

t.end()
