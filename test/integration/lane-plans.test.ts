/** What passes over lanes read uses indexes with 100,000 transactions in flight, and one statement for many lanes reads few rows. */
import type { Pool } from 'pg'
import t from 'tap'
import { createLaneReads, laneName } from '../../src/transactions/lanes.ts'
import { createObservedBlock } from '../../src/transactions/observed-block.ts'
import { findLanes, ownersOf } from '../../src/transactions/find-lanes.ts'
import { createOutsideReads } from '../../src/transactions/outside.ts'
import { createRowsOf } from '../../src/transactions/row-check.ts'
import { TEST_CHAIN, withLog } from '../support/log.ts'
import { insertBalances, insertStreams, insertTransactions, insertWallets, walletAddress } from '../support/many-rows.ts'
import { mostRead, noting, readWhole } from '../support/plans.ts'

const LANES = 1_000
const OF_LANE = 100
const IN_FLIGHT = LANES * OF_LANE
/** Transactions of one lane, and outside transactions of it. */
const MANY = 20_000
const MANY_OUTSIDE = 2_000
const lane = (n: number) => ({ chainId: TEST_CHAIN, address: walletAddress(n) })
const LANE = lane(7)
const LONG = lane(LANES + 1)
const TAG = 5
const GROWING = ['wallets', 'transactions', 'balances', 'events', 'wallet_holds', 'outside_transactions', 'foreign_nonces']
/** Of a lane's own rows, several times. */
const FEW = 20 * OF_LANE

async function insertOutside(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO outside_transactions (chain_id, address, nonce, hash, content, block_number, block_time, tag)
     SELECT $1::bigint, $2, n, '0x' || n, CASE WHEN n < 200 THEN 'same' ELSE 'c' || n END, n, now(), CASE WHEN n < 200 THEN $4::bigint ELSE n END
       FROM generate_series(1, $3::integer) AS n
      UNION ALL SELECT $1::bigint, address, n, '0x' || n || address, 'other', n, now(), NULL FROM wallets, generate_series(1, 50) AS n
                 WHERE address NOT IN ($2, $5)`,
    [TEST_CHAIN, LONG.address, MANY_OUTSIDE, TAG, LANE.address],
  )
  await pool.query(
    'INSERT INTO foreign_nonces (chain_id, address, nonce, block_number) SELECT $1::bigint, address, n, n FROM wallets, generate_series(1, 20) AS n',
    [TEST_CHAIN],
  )
}

async function pass(spy: Pool, own: typeof LANE): Promise<void> {
  const lanes = createLaneReads(spy)
  const outside = createOutsideReads(spy)
  const wanted = { unchangedMs: 60_000, maxInFlight: 2 * OF_LANE, limit: 256, except: [] }
  await lanes.look(own, wanted)
  await lanes.waiting(own, 256)
  await lanes.inFlight(own)
  await lanes.stuck(own, 60_000, 16)
  await lanes.highestInFlight(own, 8)
  await lanes.spare(own)
  await lanes.freeNonces(own, 0, 5)
  await lanes.gaps(own, 0, 60_000)
  await lanes.fillersOfHour(own, 0)
  await lanes.toSubmit(own, { forgottenAfterMs: 60_000, afterNonce: -1, limit: 256 })
  await outside.knowledge(own)
  await outside.loose(own, { tags: [TAG], contents: ['same'] })
  await outside.assigned(own, 0, 5)
  await outside.overtaken(own)
  await createObservedBlock(spy)(own)
  await createRowsOf(spy)(['s00000001', 's00000002'])
  for (const step of ['sign', 'submit'] as const) await ownersOf(spy, step, [laneName(own)])
}

t.test('at 100,000 in flight each statement of a pass uses indexes', async (t) => {
  const { pool } = await withLog(t)
  await insertWallets(pool, { count: LANES + 1 })
  await insertBalances(pool, LANES + 1)
  await insertStreams(pool, LANES + 1)
  await insertTransactions(pool, { prefix: 's', wallet: `n % ${LANES} + 1`, count: IN_FLIGHT, nonce: `n / ${LANES}`, state: 'submitted' })
  await insertTransactions(pool, { prefix: 'l', wallet: String(LANES + 1), count: MANY, nonce: 'n', block: 'n', state: 'confirmed' })
  // One nonce that the log has not given.
  await pool.query("DELETE FROM transactions WHERE transaction_id IN ('l00000500', 's00050007')")
  await insertOutside(pool)
  await pool.query('ANALYZE')
  for (const own of [LANE, LONG]) {
    const { spy, noted } = noting(pool)
    await pass(spy, own)
    for (const [name, { text, values }] of noted) {
      const now = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      // Named statements are planned once for all values.
      const forAll = await pool.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
      for (const { rows } of [now, forAll]) t.strictSame(readWhole(rows[0]['QUERY PLAN'][0].Plan, GROWING), [], name)
      if (own === LANE) t.ok(mostRead(now.rows[0]['QUERY PLAN'][0].Plan) < FEW, `${name}: ${mostRead(now.rows[0]['QUERY PLAN'][0].Plan)}`)
      else t.comment(`${name}: ${mostRead(now.rows[0]['QUERY PLAN'][0].Plan)} rows, ${now.rows[0]['QUERY PLAN'][0]['Execution Time']} ms`)
    }
  }
  const { spy, noted } = noting(pool)
  for (const isStale of [false, true]) for (const step of ['sign', 'submit'] as const) await findLanes(spy, step, ['0', '1'], isStale)
  for (const [name, { text, values }] of noted) {
    const { rows } = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    t.comment(`${name}: ${JSON.stringify(readWhole(rows[0]['QUERY PLAN'][0].Plan, GROWING))} ${rows[0]['QUERY PLAN'][0]['Execution Time']} ms`)
  }
})

t.end()
