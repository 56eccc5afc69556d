/**
 * A database that is partly working: responses lost after the commit, statements that take seconds, a server that is
 * read-only or out of disk. Accepted transfers are paid once; what cannot be recorded is refused with 503.
 */
import t, { type Test } from 'tap'
import { auditChain } from '../support/chain-audit.ts'
import type { Reply } from '../support/client.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { auditLog } from '../support/log-audit.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type Stage, withStage } from '../support/service-stage.ts'

const { url: databaseUrl, pool: direct } = await withDatabase(t)
const proxy: DatabaseProxy = await startDatabaseProxy(() => Number(new URL(databaseUrl).port))
t.after(proxy.close)
const stage: Stage = await withStage(t, { databaseUrl: behind(databaseUrl, proxy.port) })
const { service, settle } = stage
const { api } = service
service.pool.on('error', () => undefined) // The test's own connections break too.
const wallets = await service.makeWallets(6)
const answers: Answered[] = []

function behind(url: string, port: number): string {
  const copy = new URL(url)
  copy.port = String(port)
  return copy.href
}

function transfer(count: number, seed: number): Promise<Answered[]> {
  const plan = { wallets, count, firstNumber: answers.length, spreadMs: 1_500, tokens: 0, impatient: 0 }
  return sendTransfers(api, planTransfers(createRandom(seed), plan))
}

/** A refused one: nothing of it may be on chain. */
function tryTransfer(key: string) {
  const [wallet] = wallets as [LoadWallet]
  const body = { to: wallet.address, amount: '1', asset: 'ETH' }
  return api.once({ method: 'POST', path: `/v1/wallets/${wallet.id}/transfer`, key, prefer: 'respond-async', body })
}

async function settleAndAudit(t: Test) {
  proxy.decide = () => 'pass'
  await settle()
  matchExactly(t, await auditChain({ places: service.places, wallets, answers }), {
    problems: [],
    once: answers.length,
    lost: 0,
    doubled: 0,
  })
  t.strictSame((await auditLog(databaseUrl)).problems, [], 'the log is valid, and the live tables equal its fold')
}

t.test('a request repeated after its connection was cut during the commit takes effect once', async (t) => {
  const random = createRandom(1)
  proxy.decide = (text) => (/append_commits/.test(text) && random.chance(0.4) ? 'cut after' : 'pass')
  answers.push(...(await transfer(90, 1)))
  await settle()
  t.ok((proxy.struck.get('cut after') ?? 0) > 3, `${proxy.struck.get('cut after')} answers were lost`)
  await settleAndAudit(t)
})

t.test('a connection cut before the commit loses nothing', async (t) => {
  const random = createRandom(2)
  proxy.decide = (text) => (/append_commits/.test(text) && random.chance(0.4) ? 'cut before' : 'pass')
  answers.push(...(await transfer(60, 2)))
  await settle()
  t.ok((proxy.struck.get('cut before') ?? 0) > 3)
  await settleAndAudit(t)
})

t.test('an idle connection that breaks does not end the process', async (t) => {
  const held = await service.pool.connect()
  const ended = new Promise((resolve) => held.once('end', resolve))
  t.ok(proxy.cutAll() > 0)
  await ended
  held.release()
  t.equal((await eventually(() => service.pool.query('SELECT 1'))).rowCount, 1, 'the pool opens another connection')
})

t.test('statements slower than a lease stop no transfer and pay nothing twice', async (t) => {
  proxy.decide = () => ({ lateMs: 2_000 })
  answers.push(...(await transfer(24, 3)))
  t.ok((proxy.struck.get('late') ?? 0) > 10)
  await settleAndAudit(t)
})

t.test('writes are refused with 503 while the database is read-only, and work afterwards', async (t) => {
  const name = new URL(databaseUrl).pathname.slice(1)
  const sending = transfer(60, 4)
  await eventually(() => (api.counts.get('202') ?? 0) > answers.length + 10)
  await direct.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  // The setting applies to new connections.
  proxy.cutAll()
  matchExactly(t, await eventually(async () => stillRefused(await tryTransfer('read-only'))), {
    status: 503,
    body: { status: 'error', errors: [{ type: 'unavailable', code: 'database_unavailable' }] },
  })
  const [wallet] = wallets as [LoadWallet]
  t.equal((await api.insist({ path: `/v1/wallets/${wallet.id}/balance` })).status, 200, 'reads are still answered')
  await direct.query('SET default_transaction_read_only = off')
  await direct.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
  proxy.cutAll()
  answers.push(...(await sending))
  await settleAndAudit(t)
})

t.test('writes are refused with 503 while the disk is full, and work afterwards', async (t) => {
  const sending = transfer(60, 5)
  await eventually(() => (api.counts.get('202') ?? 0) > answers.length + 10)
  proxy.decide = (text) => (/append_commits|_lease|INSERT|UPDATE|DELETE/i.test(text) ? 'disk full' : 'pass')
  matchExactly(t, await eventually(async () => stillRefused(await tryTransfer('full'))), {
    status: 503,
    body: { status: 'error', errors: [{ type: 'unavailable', code: 'database_unavailable' }] },
  })
  proxy.decide = () => 'pass'
  answers.push(...(await sending))
  await settleAndAudit(t)
})

/**
 * A request in progress when the fault started may still get its response, and a node that pauses is no fault of the
 * database.
 */
function stillRefused(reply: Reply): Reply | null {
  const [problem] = reply.body.errors ?? []
  return reply.status === 503 && problem?.code !== 'rpc_unavailable' ? reply : null
}

t.end()
