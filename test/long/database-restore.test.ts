/**
 * A database restored to an earlier state while its processes run: signed transactions that it lost are on chain, or in
 * the pools of nodes. Each transfer is still paid once.
 */
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { composeTakeCheckpoint } from '../../src/compose/auditor.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import type { DatabaseRole } from '../../src/core/database-roles.ts'
import { type CliRun, runCommandLine } from '../support/cli.ts'
import { goldenShares } from '../support/golden-shares.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { type MpcWallet, withMpcStage } from '../support/mpc-stage.ts'
import { withLosableServer } from '../support/postgres-copy.ts'
import { makeIdentity, recoveryOf, runRecovery, scratch } from '../support/recovery.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain } from '../support/service-stage.ts'

const server = await withLosableServer(t)
const stage = await withMpcStage(t, {
  databaseUrl: server.url,
  keys: [goldenShares(2, 3)],
  // A node that pauses is waited for: reconcile reports lanes whose node does not answer.
  env: { RPC_TIMEOUT_MS: '60000' },
})
const { service } = stage

/** Sends transfers with unique amounts, so that each can be identified on chain. */
let amounts = 0
async function send(wallet: LoadWallet): Promise<{ id: string; wei: bigint }> {
  amounts += 1
  return { id: await stage.send(wallet, `0.${String(amounts).padStart(6, '0')}`), wei: BigInt(amounts) * 10n ** 12n }
}

const [joint] = stage.wallets as [MpcWallet]
const [payer, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]

/** Restores the database to the copy; all processes keep running. */
async function putBack(copy: string): Promise<void> {
  await server.kill()
  await server.restore(copy)
  await eventually(async () => (await service.api.insist({ path: `/v1/wallets/${payer.id}` })).status === 200)
}

type Listed = { readonly address: string; readonly index?: number }
type Sent = { readonly wallet: LoadWallet; readonly id: string; readonly wei: bigint }

async function sendFrom(wallet: LoadWallet): Promise<Sent> {
  return { wallet, ...(await send(wallet)) }
}

/** Accepted, and waiting for a stopped signer. */
async function waiting(): Promise<Sent[]> {
  await service.stopWorker('signer')
  const all: Sent[] = []
  for (const wallet of [payer, payer, payer, other, joint, joint, joint]) all.push(await sendFrom(wallet))
  return all
}

/** `npm run bursar -- reconcile`, as a database user with this role. */
async function reconcile(role: DatabaseRole, words: string): Promise<CliRun> {
  const commands = await bursarCommands({ ...service.env, DATABASE_URL: service.urlAs(role) })
  return runCommandLine(commands, `reconcile ${words}`)
}

const held = ({ address }: LoadWallet) => ({
  network: 'ethereum',
  address,
  outcome: 'held',
  reason: /^nodes show transactions of this address up to nonce \d+/,
  recovered: [],
  next: [{ say: String }, { say: String }, { say: String }],
})

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
  t.equal((await onChain(stage, payer)).length, 4, 'no other transaction is on chain')
  t.equal((await onChain(stage, joint)).length, 3)
})

t.test('a transfer whose signature was forgotten waits for what a pool has', async (t) => {
  const all = await waiting()
  const copy = await server.copy()
  await service.startWorker('signer')
  for (const { wallet, id } of all) await stage.until(wallet, id, 'submitted')
  await service.stopWorker('signer')
  await putBack(copy)
  // Without the check, the order would differ from the first one.
  await service.api.insist({
    method: 'POST',
    path: `/v1/wallets/${payer.id}/transactions/${all[0]?.id}/cancel`,
    key: 'cancel-forgotten',
  })
  await service.startWorker('signer')
  await eventually(() => service.lines.some(({ msg }) => String(msg).startsWith('lane held')))
  await paidOnce(t, all.slice(1))
  t.equal((await onChain(stage, payer)).length, 7)
})

t.test('a forgotten cancellation is recorded as the outcome of its transfer', async (t) => {
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
  await stage.mine(2)
  await stage.until(payer, one.id, 'cancelled')
  await putBack(copy)
  await stage.settle()
  t.equal((await stage.read(payer, one.id)).state, 'cancelled')
  t.strictSame(
    (await onChain(stage, payer)).filter(({ amount }) => amount === one.wei),
    [],
    'the cancelled transfer is not paid',
  )
})

t.test('a forgotten signature that no node has does not hold a nonce', async (t) => {
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

t.test('reconcile records what the chain has while no signer runs, and names what blocks a lane', async (t) => {
  const all = await waiting()
  const copy = await server.copy()
  await service.startWorker('signer')
  for (const { wallet, id } of all) await stage.until(wallet, id, 'submitted')
  await stage.mine()
  for (const { wallet, id } of all) await stage.until(wallet, id, 'mined')
  for (const name of ['signer', 'chain-follower'] as const) await service.stopWorker(name)
  await putBack(copy)
  const before = await reconcile('signer', '--json')
  t.equal(before.code, 1, before.err)
  const lanes = [payer, other, joint].toSorted((a, b) => (a.address < b.address ? -1 : 1))
  matchExactly(t, JSON.parse(before.out).lanes, lanes.map(held))
  const one = await reconcile('signer', `ethereum ${payer.address.toLowerCase()}`)
  t.match(one, { code: 1, out: /held · ethereum 0x.*, 3 requests to be signed\n {3}nodes show .*\n {3}→ /i })
  await service.startWorker('chain-follower')
  const found = new Map<string, string>()
  await eventually(async () => {
    const { code, out } = await reconcile('signer', '--json')
    for (const { recovered } of JSON.parse(out).lanes)
      for (const { transaction_id, hash } of recovered) found.set(transaction_id, hash)
    return code === 0
  })
  t.strictSame([...found.keys()].sort(), all.map(({ id }) => id).sort())
  for (const { wallet, id } of all) t.strictSame((await stage.read(wallet, id)).hashes, [found.get(id)])
  t.match(await reconcile('signer', ''), { code: 0, out: /0 transactions found on chain and recorded\.\n$/ })
  await service.startWorker('signer')
  await paidOnce(t, all)
})

t.test('reconcile needs the database user of a signer, and a network with an address', async (t) => {
  await service.stopWorker('signer')
  const { id } = await sendFrom(payer)
  t.match(await reconcile('operator', ''), {
    code: 1,
    out: '',
    err: /^The user of DATABASE_URL has no permission to record for lanes: .*\n$/,
  })
  t.match(await reconcile('signer', 'ethereum'), { code: 2 })
  t.match(await reconcile('signer', `goerli ${payer.address}`), { code: 2, err: /goerli is not a configured network/ })
  await service.startWorker('signer')
  await stage.settle()
  t.match(await stage.read(payer, id), { state: 'confirmed' })
})

t.test('with a log shorter than a signed checkpoint no signer starts, and running ones do not sign', async (t) => {
  const file = join(service.env.DATA_DIR ?? '', 'audit', 'checkpoints')
  await service.stopWorker('signer')
  const one = await sendFrom(payer)
  const copy = await server.copy()
  await service.startWorker('signer')
  await stage.until(payer, one.id, 'submitted')
  await (await composeTakeCheckpoint(service.kernel))()
  await service.stopWorker('signer')
  await service.startWorker('signer')
  await putBack(copy)
  const why =
    /log has \d+ events, but the auditor has signed \d+: .* AUDIT_CHECKPOINT_FILE .*"Backup, restore, failover"/
  await eventually(() => service.lines.some(({ msg, reason }) => /^lane held/.test(msg) && why.test(String(reason))))
  await service.stopWorker('signer')
  await t.rejects(service.startWorker('signer'), { code: 'log_too_short', message: why })
  const { code, out } = await reconcile('signer', '')
  t.equal(code, 1)
  t.match(out, why)
  t.equal((await stage.read(payer, one.id)).state, 'requested')
  await rename(file, `${file}.evidence`)
  await service.startWorker('signer')
  await paidOnce(t, [one])
})

t.test(
  'the address of a forgotten wallet is given to no other wallet, and a kit has the wallets of both ranges',
  async (t) => {
    const file = join(service.env.DATA_DIR ?? '', 'audit', 'checkpoints')
    const copy = await server.copy()
    const [lost] = (await service.makeWallets(1)) as [LoadWallet]
    await (await composeTakeCheckpoint(service.kernel))()
    await service.stopWorker('signer')
    await putBack(copy)
    await t.rejects(service.startWorker('signer'), { code: 'log_too_short' })
    await rename(file, `${file}.second`)
    await service.startWorker('signer')
    const made = (await service.makeWallets(2)) as LoadWallet[]
    t.notOk(made.some(({ address }) => address === lost.address))
    const directory = await scratch(t)
    const { recipient } = await makeIdentity(directory, 'identity.txt')
    const kit = join(directory, 'kit')
    const backUp = ['backup', '--out', kit, '--part', 'hd', '--recipient', recipient]
    t.match(await runRecovery(recoveryOf(service.env), backUp), { code: 0 })
    const { wallets } = JSON.parse(await readFile(join(kit, 'kit.json'), 'utf8'))
    const indexOf = new Map<string, number>(wallets.map((one: Listed) => [one.address, one.index ?? -1]))
    const [first = 0, second] = made.map(({ address }) => indexOf.get(address))
    // Made at the same time: either may be the first of the range.
    const [range, place] = [Math.floor(first / 2 ** 20), first % 2 ** 20]
    t.ok(range > 0 && place < 8, `index ${first}`)
    t.ok(second !== undefined && second !== first && Math.floor(second / 2 ** 20) === range, `index ${second}`)
    for (const { address } of [payer, other]) t.ok((indexOf.get(address) ?? -1) < 2 ** 20, 'of the first range')
  },
)

t.end()
