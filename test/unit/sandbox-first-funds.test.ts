/** The start of a sandbox waits until its faucets are funded, with a time limit. */
import type { Pool } from 'pg'
import t from 'tap'
import { awaitFaucetFunds } from '../../src/sandbox/first-funds.ts'
import { printedBy } from '../support/printed-by.ts'

/** Answers each query in turn, the last one repeatedly; an error is an unavailable database. */
function poolThatSees(...counts: readonly (number | Error)[]) {
  let asked = 0
  const query = async () => {
    const seen = counts[Math.min(asked, counts.length - 1)]
    asked += 1
    if (seen instanceof Error) throw seen
    return { rows: [{ seen }] }
  }
  return { pool: { query } as unknown as Pool, asked: () => asked }
}

t.test('the start continues once both assets of every faucet are seen, without a warning', async (t) => {
  const { pool, asked } = poolThatSees(0, new Error('the database is away'), 5, 6)
  t.equal(await printedBy(t, () => awaitFaucetFunds(pool, 3)), '')
  t.equal(asked(), 4)
})

t.test('the start continues without them when that takes too long, with a warning', async (t) => {
  for (const seen of [5, new Error('the database is away')]) {
    t.match(
      await printedBy(t, () => awaitFaucetFunds(poolThatSees(seen).pool, 3, 120)),
      /! the faucets are not funded yet/,
    )
  }
})
