/** What passes over lanes read uses indexes with 100,000 transactions in flight, and one statement for many lanes reads few rows. */

import type { Pool } from 'pg'
import t from 'tap'
import { findLanes, ownersOf } from '../../src/transactions/find-lanes.ts'
import { createLaneReads, laneName } from '../../src/transactions/lanes.ts'
import { createObservedBlock } from '../../src/transactions/observed-block.ts'
import { createOutsideReads } from '../../src/transactions/outside.ts'
import { createRowsOf } from '../../src/transactions/recorded-rows.ts'
import { TEST_CHAIN, withLog } from '../support/log.ts'
import {
  insertBalances,
  insertStreams,
  insertTransactions,
  insertWallets,
  walletAddress,
} from '../support/many-rows.ts'
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
const GROWING = [
  'wallets',
  'transactions',
  'balances',
  'events',
  'wallet_holds',
  'outside_transactions',
  'foreign_nonces',
]
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
  await lanes.room(own, 0, 5)
  await lanes.gaps(own, 0, 60_000)
  await lanes.fillersOfHour(own, 0)
  await lanes.toSubmit(own, { forgottenAfterMs: 60_000, afterNonce: -1, limit: 256 })
  await outside.knowledge(own)
  await outside.loose(own, { tags: [TAG], contents: ['same'] })
  await outside.assigned(own, 0, 5)
  await outside.overtaken(own)
  await createObservedBlock(spy)(own)
  await createRowsOf(spy)(['s00000001', 's00000002'], ['policy-tenant_0-mainnet'])
  for (const step of ['sign', 'submit'] as const) await ownersOf(spy, step, [laneName(own)])
}

t.test('at 100,000 in flight each statement of a pass uses indexes', async (t) => {
  const { pool } = await withLog(t)
  await insertWallets(pool, { count: LANES + 1 })
  await insertBalances(pool, LANES + 1)
  await insertStreams(pool, LANES + 1)
  await insertTransactions(pool, {
    prefix: 's',
    wallet: `n % ${LANES} + 1`,
    count: IN_FLIGHT,
    nonce: `n / ${LANES}`,
    state: 'submitted',
  })
  await insertTransactions(pool, {
    prefix: 'l',
    wallet: String(LANES + 1),
    count: MANY,
    nonce: 'n',
    block: 'n',
    state: 'confirmed',
  })
  // One nonce that the log has not given.
  await pool.query("DELETE FROM transactions WHERE transaction_id IN ('l00000500', 's00050006')")
  await insertOutside(pool)
  await pool.query('ANALYZE')
  const { spy, noted } = noting(pool)
  for (const own of [LONG, LANE]) await pass(spy, own)
  for (const isStale of [false, true])
    for (const step of ['sign', 'submit'] as const) await findLanes(spy, step, ['0', '1'], isStale)
  t.ok(noted.size >= 20, `${noted.size} statements are explained`)
  for (const [name, { text, values }] of noted) {
    const now = await pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    // Named statements are planned once for all values.
    const forAll = await pool.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`)
    for (const { rows } of [now, forAll]) t.strictSame(readWhole(rows[0]['QUERY PLAN'][0].Plan, GROWING), [], name)
    const rows = mostRead(now.rows[0]['QUERY PLAN'][0].Plan)
    t.ok(rows < FEW, `${name}: ${rows} rows`)
  }
})

t.test('a search finds each lane with work once, of its partitions alone', async (t) => {
  const { pool } = await withLog(t)
  await insertTransactions(pool, { prefix: 's', wallet: 'n % 3 + 1', count: 9, nonce: 'n', state: 'submitted' })
  await insertTransactions(pool, { prefix: 'w', wallet: 'n % 2 + 3', count: 4, state: 'requested' })
  await insertTransactions(pool, { prefix: 'c', wallet: '9', count: 4, nonce: 'n', block: 'n', state: 'confirmed' })
  await pool.query("UPDATE transactions SET from_address = '0xF' || substr(from_address, 4) WHERE from_address = $1", [
    lane(2).address,
  ])
  const capital = `${TEST_CHAIN}-0xF${lane(2).address.slice(3)}`
  const find = async (...asked: [step: 'sign' | 'submit', partitions: readonly string[], isStale: boolean]) =>
    (await findLanes(pool, ...asked)).toSorted()
  const names = (...numbers: readonly number[]) => numbers.map((n) => laneName(lane(n)))
  t.strictSame(await find('submit', ['1'], false), names(1, 3))
  t.strictSame(await find('submit', ['f'], false), [capital])
  t.strictSame(await find('sign', ['1'], false), names(3, 4))
  t.strictSame(await find('sign', ['1', 'f'], true), [...names(1, 3, 4), capital])
  t.strictSame(await find('sign', ['7'], true), [])
})

t.test('bytes of a transaction that lost their nonce are its own, whatever nonce it has now', async (t) => {
  const { pool } = await withLog(t)
  const own = [
    ['same nonce', '1', '0xa1'],
    ['later nonce', '7', '0xa2'],
    ['no nonce', null, '0xa3'],
  ] as const
  for (const [i, [, nonce, hash]] of own.entries()) {
    const state = nonce === null ? 'failed' : 'submitted'
    await insertTransactions(pool, { prefix: `t${i}`, wallet: '7', count: 1, state, ...(nonce ? { nonce } : {}) })
    await pool.query('UPDATE transactions SET hashes = $1 WHERE transaction_id = $2', [
      JSON.stringify([hash]),
      `t${i}00000001`,
    ])
  }
  for (const [nonce, hash] of [
    [1, '0xa1'],
    [2, '0xa2'],
    [3, '0xa3'],
    [4, '0xb4'],
    [7, '0xb7'],
  ])
    await pool.query(
      `INSERT INTO outside_transactions (chain_id, address, nonce, hash, content, block_number, block_time)
       VALUES ($1, $2, $3, $4, 'same', 1, now())`,
      [TEST_CHAIN, LANE.address, nonce, hash],
    )
  const { loose, known } = await createOutsideReads(pool).loose(LANE, { tags: [], contents: ['same'] })
  t.strictSame(
    loose.map(({ nonce, hash, isTaken }) => ({ nonce, hash, isTaken })),
    [
      { nonce: 4, hash: '0xb4', isTaken: false },
      { nonce: 7, hash: '0xb7', isTaken: true },
    ],
  )
  t.equal(known.outside, 8)
  const nothing = await createOutsideReads(pool).loose(LANE, { tags: [], contents: ['other'] })
  t.strictSame(nothing.loose, [])
  t.equal(nothing.known.outside, 8)
})

t.end()
