/**
 * Queues are hints: when emptied, disconnected, or delivering every job twice and in any order, nothing is lost or
 * duplicated. On both back ends.
 */
import pg from 'pg'
import t, { type Test } from 'tap'
import { withAnvil } from '../support/anvil.ts'
import { auditChain } from '../support/chain-audit.ts'
import { emptyQueues } from '../support/empty-queues.ts'
import { createJobChaos } from '../support/job-chaos.ts'
import { type Answered, type LoadWallet, planTransfers, sendTransfers } from '../support/load.ts'
import { createRandom } from '../support/load-random.ts'
import { mineUntilSettled } from '../support/load-settle.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withDatabase } from '../support/postgres.ts'
import { startTestRedis } from '../support/redis.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type LocalService, type LocalServiceOptions, withLocalService } from '../support/service-local.ts'

const CHAIN_ID = 1000001
const TRANSFERS = 60
const WALLETS = 4
/** Accepted requests when the queue is hit: some are signed by then, some submitted, some neither. */
const HIT_AT = [5, 25, 45]

/** A back end and the faults that can be applied to it. */
type Place = {
  readonly env: Readonly<Record<string, string>>
  readonly empty: () => Promise<void>
  /** Stops and restarts it for its clients. Non-durable data is lost. */
  readonly restart: () => Promise<void>
}

type Shop = { readonly service: LocalService; readonly url: string; readonly wallets: readonly LoadWallet[] }

async function openShop(
  t: Test,
  databaseUrl: string,
  options: Pick<LocalServiceOptions, 'env' | 'onKernel'>,
): Promise<Shop> {
  const { url } = await withAnvil(t, { chainId: CHAIN_ID, mining: 'call' })
  const service = await withLocalService(t, { databaseUrl, chainUrl: url, chainId: CHAIN_ID, ...options })
  return { service, url, wallets: await service.makeWallets(WALLETS) }
}

async function settle({ service, url }: Shop): Promise<void> {
  await mineUntilSettled(() => service.places, url)
}

async function mustBeWhole(t: Test, { service, wallets }: Shop, answers: readonly Answered[]): Promise<void> {
  matchExactly(t, await auditChain({ places: service.places, wallets, answers }), {
    problems: [],
    accepted: answers.length,
    once: answers.length,
    lost: 0,
    doubled: 0,
  })
}

const plan = (wallets: readonly LoadWallet[], seed: number, firstNumber = 0) =>
  planTransfers(createRandom(seed), {
    wallets,
    count: TRANSFERS,
    firstNumber,
    spreadMs: 1_500,
    tokens: 0,
    impatient: 0,
  })

/** Sends the transfers of a plan, and repeatedly disturbs the queue meanwhile. */
async function sendWhile(shop: Shop, seed: number, firstNumber: number, hit: () => Promise<void>): Promise<Answered[]> {
  let accepted = 0
  const sending = sendTransfers(shop.service.api, plan(shop.wallets, seed, firstNumber), () => {
    accepted += 1
  })
  for (const seen of HIT_AT) {
    await eventually(() => accepted >= seen)
    await hit()
  }
  return sending
}

const seed = Date.now() % 1_000_000
t.comment(`seed ${seed}`)

/** Unfinished jobs. */
async function jobsOf({ service }: Shop): Promise<number> {
  const counts = Object.values(await service.kernel.jobs.counts())
  return counts.reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0)
}

/** Without workers, jobs wait: a fault of the queue then affects them all. */
async function whileJobsWait(shop: Shop, act: () => Promise<void>): Promise<number> {
  await shop.service.stopWorker('signer')
  const jobs = await eventually(() => jobsOf(shop))
  await act()
  await shop.service.startWorker('signer')
  return jobs
}

async function emptied(t: Test, databaseUrl: string, { env, empty }: Place): Promise<void> {
  const shop = await openShop(t, databaseUrl, { env })
  let thrownAway = 0
  const answers = await sendWhile(shop, seed, 0, async () => {
    thrownAway += await whileJobsWait(shop, empty)
  })
  await settle(shop)
  await mustBeWhole(t, shop, answers)
  t.ok(thrownAway >= HIT_AT.length, `${thrownAway} jobs were thrown away`)
}

async function restarted(t: Test, databaseUrl: string, { env, restart }: Place): Promise<void> {
  const shop = await openShop(t, databaseUrl, { env })
  shop.service.pool.on('error', () => undefined) // The test's own connections break too.
  const answers = await sendWhile(shop, seed, 0, restart)
  await settle(shop)
  await mustBeWhole(t, shop, answers)
}

async function delivered(t: Test, databaseUrl: string, { env }: Place): Promise<void> {
  const { onKernel, settled, counts } = createJobChaos(createRandom(seed))
  const shop = await openShop(t, databaseUrl, { env, onKernel })
  const answers = await sendTransfers(shop.service.api, plan(shop.wallets, seed))
  await settle(shop)
  await settled()
  await settle(shop)
  await mustBeWhole(t, shop, answers)
  t.ok(counts.again >= WALLETS, `${counts.again} of ${counts.delivered} jobs were delivered again`)
  t.ok(counts.outOfOrder > 0, `${counts.outOfOrder} jobs were delivered out of order`)
}

async function query(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

function postgresPlace(databaseUrl: string): Place {
  return {
    env: {},
    empty: () => emptyQueues(databaseUrl),
    restart: () =>
      query(
        databaseUrl,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      ),
  }
}

async function redisPlace(t: Test): Promise<Place | null> {
  const redis = await startTestRedis()
  if (redis === null) return null
  t.after(redis.close)
  const { server } = redis
  return {
    env: { REDIS_URL: redis.url },
    empty: redis.empty,
    async restart() {
      if (server === null) return redis.cutConnections()
      await server.stop()
      await server.start()
    },
  }
}

const RULES: readonly (readonly [string, (t: Test, databaseUrl: string, place: Place) => Promise<void>])[] = [
  ['emptied in the middle of the load, with jobs in it: the sweeper finds what no job speaks of', emptied],
  ['restarted in the middle of the load: nothing is lost, and nobody starts a process again', restarted],
  ['every job comes twice, late and out of order: each transfer is on chain once', delivered],
]

for (const name of ['PostgreSQL', 'Redis']) {
  for (const [rule, run] of RULES) {
    t.test(`the queue on ${name}: ${rule}`, async (t) => {
      const { url } = await withDatabase(t)
      const place = name === 'Redis' ? await redisPlace(t) : postgresPlace(url)
      if (place === null) return t.comment('skipped: Redis is not available')
      await run(t, url, place)
    })
  }
}

t.end()
