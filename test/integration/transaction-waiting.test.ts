/** Any number of waiting transactions does not keep follower or sweeper from a transfer that can proceed. */
import t from 'tap'
import { createBlockReads } from '../../src/transactions/block-reads.ts'
import { createFindUnfinishedLanes } from '../../src/transactions/jobs.ts'
import { TEST_CHAIN } from '../support/log.ts'
import { insertTransactions } from '../support/many-rows.ts'
import { withDatabase } from '../support/postgres.ts'

const WAITING = 1_100
const SWEPT = 1_000
/** Sorts after all others. */
const LAST = 9_999_999

t.test('210 transactions of one wallet and 1,100 others hide no lane from the search for lost nonces', async (t) => {
  const { pool } = await withDatabase(t)
  await insertTransactions(pool, { prefix: 'a', wallet: '1', count: 210, nonce: 'n', state: 'submitted' })
  await insertTransactions(pool, { prefix: 'b', wallet: 'n + 1', count: WAITING, nonce: '0', state: 'awaiting_funds' })
  await insertTransactions(pool, { prefix: 'c', wallet: `${LAST}`, count: 1, nonce: '5', state: 'submitted' })
  const { quiet } = createBlockReads(pool)
  const seen = new Map<string, number[]>()
  let rounds = 0
  for (; seen.size < WAITING + 2 && rounds < 20; rounds += 1)
    for (const { address, nonce } of await quiet(TEST_CHAIN, 60_000))
      seen.set(address, [...(seen.get(address) ?? []), nonce])
  t.equal(seen.size, WAITING + 2, 'the search returns every lane')
  t.ok(rounds <= 6, `the search takes ${rounds} rounds, at most 6`)
  const [crowded] = [...seen.values()].filter((nonces) => nonces.length > 1)
  t.equal(crowded?.[0], 1, 'the lowest nonce of a lane is returned first')
  const again = await quiet(TEST_CHAIN, 60_000)
  t.ok(again.length > 0, 'the search starts again from the first lane')
})

t.test('the sweeper reaches every lane, and other tenants without delay', async (t) => {
  const { pool } = await withDatabase(t)
  await insertTransactions(pool, { prefix: 'a', wallet: 'n', count: WAITING, nonce: '0', state: 'awaiting_funds' })
  await insertTransactions(pool, { prefix: 'b', wallet: `${LAST}`, count: 1, state: 'requested' })
  await insertTransactions(pool, { prefix: 'c', wallet: `${LAST - 1}`, count: 1, state: 'requested', tenant: 'other' })
  const find = createFindUnfinishedLanes(pool, { quietMs: 60_000, sentMs: 60_000 })
  const jobs = await find(SWEPT)
  t.ok(jobs.length <= SWEPT)
  t.ok(
    jobs.some(({ id }) => id.endsWith((LAST - 1).toString(16))),
    'the only lane of the other tenant is found',
  )
  const seen = new Set(jobs.map(({ id }) => id))
  // Each lane has something to sign and something to submit.
  for (let round = 2; round <= 3; round += 1) for (const { id } of await find(SWEPT)) seen.add(id)
  t.equal(seen.size, WAITING + 2, 'three rounds find every lane')
})
