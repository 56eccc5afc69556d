/** Heartbeats of signers that do not exist, on a real PostgreSQL: who can write them, and what a signer gives up for them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { composeKernel } from '../../src/compose/kernel.ts'
import { workOnLanes } from '../../src/compose/lanes.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { PARTITIONS } from '../../src/transactions/partitions.ts'
import { signerConfig } from '../support/config.ts'
import { loginAs } from '../support/database-login.ts'
import { insertTransactions, insertWallets } from '../support/many-rows.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const FORGED = 100
const PASS_MS = 100
const WATCHED_MS = 22_000
const LOOK_MS = 100
/** Half of the partitions twice, for two seconds and the time to queue and take them. */
const MOST_MISSED = 2 * 8 * 3_500
const FORGE = `SELECT record_heartbeat('signer', 'nowhere:' || n) FROM generate_series(1, ${FORGED}) AS n`

t.test('only signers report as signers', async (t) => {
  const database = await withDatabase(t)
  for (const role of DATABASE_ROLES) {
    const forging = (await loginAs(t, database, role)).query(FORGE)
    if (role === 'signer') await t.resolves(forging)
    else await t.rejects(forging, { code: '42501' }, role)
  }
})

t.test('a signer that alone lives keeps working on all partitions, however many others report', async (t) => {
  const { url, pool } = await withDatabase(t)
  const config = signerConfig(t, url)
  const kernel = composeKernel(config, 'signer')
  t.after(() => kernel.close())
  await insertWallets(pool, { count: PARTITIONS.length })
  await insertTransactions(pool, { wallet: 'n', count: PARTITIONS.length, state: 'requested' })
  // A lane in each partition.
  await pool.query(
    `UPDATE wallets SET address = '0x' || to_hex(right(wallet_id, 7)::integer - 1) || substr(address, 4)`,
  )
  await pool.query(
    `UPDATE transactions SET from_address = '0x' || to_hex(right(wallet_id, 7)::integer - 1) || substr(from_address, 4)`,
  )
  await pool.query(FORGE)
  const worker = workOnLanes(kernel, { queue: 'lane', pass: () => sleep(PASS_MS, 'again' as const) })
  t.after(() => worker.close())
  await kernel.jobs.add(PARTITIONS.map((partition) => ({ queue: 'lane', id: partition, data: { partition } })))
  const heldNow = async () => {
    const text = "SELECT count(*)::integer AS n FROM leases WHERE name ~ '^sign-[0-9a-f]$' AND holder IS NOT NULL"
    return (await pool.query<{ n: number }>(text)).rows[0]?.n ?? 0
  }
  await eventually(async () => (await heldNow()) === PARTITIONS.length)
  let missedMs = 0
  const startedAt = performance.now()
  for (let last = startedAt; last - startedAt < WATCHED_MS; ) {
    await pool.query(FORGE)
    const held = await heldNow()
    const now = performance.now()
    missedMs += (PARTITIONS.length - held) * (now - last)
    last = now
    await sleep(LOOK_MS)
  }
  t.ok(missedMs <= MOST_MISSED, `${Math.round(missedMs)} ms and partitions of ${PARTITIONS.length * WATCHED_MS}`)
})

t.end()
