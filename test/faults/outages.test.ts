/**
 * Dependencies of the service go away and come back: requests are refused with 503 and the envelope, accepted work
 * waits, and everything continues automatically. All of it runs in this process, which a crash would end: nothing is
 * restarted.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrateDatabase } from '../../src/compose/migrate-database.ts'
import { startPostgres } from '../../src/sandbox/postgres.ts'
import { withAnvil } from '../support/anvil.ts'
import { auditChain } from '../support/chain-audit.ts'
import type { Reply } from '../support/client.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { mineUntilSettled } from '../support/load-settle.ts'
import { matchExactly } from '../support/match-exactly.ts'
import type { Fate } from '../support/node-fates.ts'
import { withDatabase } from '../support/postgres.ts'
import { startTestRedis } from '../support/redis.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type LocalService, withLocalService } from '../support/service-local.ts'
import { withNodeProxy } from '../support/service-node-proxy.ts'

const CHAIN_ID = 1000001
const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

function plan(wallets: readonly LoadWallet[], count: number, firstNumber = 0) {
  return planTransfers(createRandom(1), { wallets, count, firstNumber, spreadMs: 1_500, tokens: 0, impatient: 0 })
}

/** Mines until nothing is in progress, then compares everything with the chain. */
async function settleAndAudit(
  t: Test,
  service: LocalService,
  chainUrl: string,
  wallets: readonly LoadWallet[],
  answers: readonly Answered[],
) {
  await mineUntilSettled(() => service.places, chainUrl)
  matchExactly(t, await auditChain({ places: service.places, wallets, answers }), {
    problems: [],
    accepted: answers.length,
    once: answers.length,
    lost: 0,
    doubled: 0,
  })
}

function refusedFor(t: Test, reply: Reply, code: string, message: string) {
  matchExactly(
    t,
    reply,
    { status: 503, body: { status: 'error', message: String, errors: [{ type: 'unavailable', code }] } },
    message,
  )
  t.match(reply.headers, { 'retry-after': '1', 'x-request-id': String })
  t.equal(reply.body.request_id, reply.headers['x-request-id'])
}

/** The problems reported by `/readyz`. */
async function complaints({ api }: LocalService): Promise<string[]> {
  const { body } = await api.once({ path: '/readyz' })
  return (body.errors ?? []).map(({ message }) => message.split(':')[0] ?? '')
}

t.test('while PostgreSQL is down requests get 503, and transfers go on once it is back', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-outage-'))
  const start = () => startPostgres({ directory, settings: { shared_buffers: '32MB' } })
  let postgres = await start()
  t.after(async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  })
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 })
  const settings = { databaseUrl: postgres.url, directory: MIGRATIONS, queues: true, logins: [] }
  await migrateDatabase(pool, settings).finally(() => pool.end())
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const service = await withLocalService(t, { databaseUrl: postgres.url, chainUrl: url, chainId: CHAIN_ID })
  const { api } = service
  service.pool.on('error', () => undefined) // The test's own connections break too.
  const wallets = await service.makeWallets(4)
  const [first] = wallets as [LoadWallet]
  const sending = sendTransfers(api, plan(wallets, 80))
  await eventually(() => (api.counts.get('202') ?? 0) > 10)
  process.kill(postgres.pid, 'SIGKILL')
  await postgres.exited
  refusedFor(
    t,
    await api.once({ path: `/v1/wallets/${first.id}/balance` }),
    'database_unavailable',
    'a read is refused',
  )
  const body = { to: first.address, amount: '1', asset: 'ETH' }
  const transfer = await api.once({ method: 'POST', path: `/v1/wallets/${first.id}/transfer`, key: 'refused', body })
  refusedFor(t, transfer, 'database_unavailable', 'a transfer is refused')
  t.equal((await complaints(service))[0], 'database', 'the checks that read from it follow')
  t.match(await api.once({ path: '/healthz' }), { status: 200 }, 'the process stays alive')
  postgres = await start()
  const answers = await sending
  await eventually(async () => (await api.once({ path: '/readyz' })).status === 200)
  await settleAndAudit(t, service, url, wallets, answers)
})

t.test(
  'while a node is down only requests that need it fail, and accepted transfers go on once it is back',
  async (t) => {
    const { url: databaseUrl } = await withDatabase(t)
    const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
    const node = await withNodeProxy(t, url)
    const service = await withLocalService(t, { databaseUrl, chainUrl: url, chainId: CHAIN_ID, rpcUrls: [node.url] })
    const { api } = service
    const wallets = await service.makeWallets(4)
    const [first, second] = wallets as [LoadWallet, LoadWallet]
    const body = { to: second.address, amount: '0.1', asset: 'ETH' }
    const preview = { method: 'POST', path: `/v1/wallets/${first.id}/transfer/preview`, body } as const
    t.equal((await api.insist(preview)).status, 200)
    const token = `0x${'ab'.repeat(20)}`
    const lookUp = {
      method: 'POST',
      path: '/v1/assets',
      body: { network: 'ethereum', contract_address: token },
    } as const
    for (const down of [
      { type: 'refuse' },
      { type: 'silence before' },
      { type: 'status', status: 502 },
    ] as const satisfies Fate[]) {
      node.decide = () => down
      refusedFor(t, await api.once(lookUp), 'rpc_unavailable', `a contract cannot be looked at (${down.type})`)
    }
    const answers = await sendTransfers(api, plan(wallets, 40))
    t.ok(
      answers.every(({ status }) => status === 202),
      'transfers are accepted with fees that are at most a minute old',
    )
    const fresh = await service.startApi()
    const unknown = await fresh.once({ method: 'POST', path: `/v1/wallets/${first.id}/transfer`, key: 'fresh', body })
    refusedFor(t, unknown, 'rpc_unavailable', 'an API that never heard the node knows no fees')
    node.decide = () => ({ type: 'pass' })
    await settleAndAudit(t, service, url, wallets, answers)
    await eventually(async () => (await fresh.once(preview)).status === 200)
  },
)

t.test('emptying and stopping Redis loses nothing and does not affect the API', async (t) => {
  const redis = await startTestRedis()
  if (redis === null) return t.comment('skipped: Redis is not available')
  t.after(redis.close)
  const { url: databaseUrl } = await withDatabase(t)
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const service = await withLocalService(t, {
    databaseUrl,
    chainUrl: url,
    chainId: CHAIN_ID,
    env: { REDIS_URL: redis.url },
  })
  const { api } = service
  const wallets = await service.makeWallets(4)
  const emptied = sendTransfers(api, plan(wallets, 80))
  for (const seen of [5, 30, 60]) {
    await eventually(() => (api.counts.get('202') ?? 0) > seen)
    await redis.empty()
  }
  const answers = [...(await emptied)]
  await settleAndAudit(t, service, url, wallets, answers)
  if (redis.server === null) return t.comment('the test cannot stop this Redis server')
  await redis.server.stop()
  // A node or a database that pauses is no fault of the queue.
  const refusals = () =>
    [...api.counts.keys()].filter((answer) => answer.startsWith('5') && !/ (rpc|database)_/.test(answer))
  const before = refusals()
  const during = await sendTransfers(api, plan(wallets, 40, answers.length))
  t.ok(
    during.every(({ status }) => status === 202),
    'transfers are accepted without the queue',
  )
  t.strictSame(refusals(), before, 'no request is refused')
  t.ok((await complaints(service)).includes('queue'), 'readiness names the queue')
  await redis.server.start()
  await settleAndAudit(t, service, url, wallets, [...answers, ...during])
  await eventually(async () => (await api.once({ path: '/readyz' })).status === 200)
})

t.end()
