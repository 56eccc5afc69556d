/**
 * One tenant's lanes do not delay another tenant's: however many wait, or fail, the other's lane is among the next. On a
 * real PostgreSQL and every queue back end, with passes that sign nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { composeKernel } from '../../src/compose/kernel.ts'
import { workOnLanes } from '../../src/compose/lanes.ts'
import { QUEUE_LIMITS } from '../../src/declarations.ts'
import { type Lane, laneName } from '../../src/transactions/lanes.ts'
import { workName } from '../../src/transactions/partitions.ts'
import { signerConfig } from '../support/config.ts'
import { inEveryPlace, type JobPlace } from '../support/job-places.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { insertTransactions, insertWallets, walletAddress } from '../support/many-rows.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** Of acme. They are of one partition. */
const LANES = 200
const AT_ONCE = 4
const PASS_MS = 20
const OTHER = laneName({ chainId: TEST_CHAIN, address: walletAddress(LANES + 1) })

async function withSigner(t: Test, place: JobPlace) {
  const { url, pool } = await withDatabase(t)
  const { redisUrl } = await place.fresh()
  const config = signerConfig(t, url, redisUrl ? { REDIS_URL: redisUrl } : {})
  const kernel = composeKernel(config, 'signer')
  t.after(() => kernel.close())
  return { pool, kernel }
}

/** How many lanes of acme begin between the time when globex asks for its transfer and the time when that begins. */
async function countAhead(t: Test, place: JobPlace, fails: boolean): Promise<number> {
  const { pool, kernel } = await withSigner(t, place)
  await insertWallets(pool, { count: LANES + 1 })
  await pool.query("UPDATE wallets SET tenant_id = CASE address WHEN $1 THEN 'globex' ELSE 'acme' END", [
    walletAddress(LANES + 1),
  ])
  await insertTransactions(pool, { wallet: 'n', count: LANES, state: 'requested', tenant: 'acme' })
  const begun: string[] = []
  const pass = async (lane: Lane) => {
    const name = laneName(lane)
    begun.push(name)
    if (begun.length === 10) {
      const wallet = String(LANES + 1)
      await insertTransactions(pool, { prefix: 'late', wallet, count: 1, state: 'requested', tenant: 'globex' })
      kernel.wakeUps.announce([], [workName('sign', OTHER)])
    }
    await delay(PASS_MS)
    if (fails && name !== OTHER) throw new Error('the node is away')
    return 'done' as const
  }
  const worker = workOnLanes(kernel, { queue: 'lane', pass, atOnce: AT_ONCE })
  t.after(() => worker.close())
  await kernel.jobs.add([{ queue: 'lane', id: '1', data: { partition: '1' } }])
  await eventually(() => begun.includes(OTHER))
  await eventually(() => new Set(begun).size === LANES + 1)
  return begun.indexOf(OTHER) - 10
}

await inEveryPlace(t, async (t, place) => {
  for (const fails of [false, true])
    await t.test(`however many lanes of another tenant ${fails ? 'fail again and again' : 'wait'}`, async (t) => {
      const ahead = await countAhead(t, place, fails)
      t.ok(ahead <= QUEUE_LIMITS.lane.window + AT_ONCE + 1, `at most a window of lanes begins first: ${ahead}`)
    })
})
