/** What counts towards limits now. For those who are told: an append counts once more, with the counters locked. */
import type { Pool } from 'pg'
import { toIso } from '../core/instants.ts'
import { beginOfWindow, type SpendLimit, type Spent, type SpentBy } from '../core/spend-limits.ts'
import type { Row } from '../event-log/table-rows.ts'

/** Every bucket that counts at the time, ISO 8601 UTC. */
export async function readSpent(
  pool: Pick<Pool, 'query'>,
  limits: readonly Pick<SpendLimit, 'counter' | 'windowSeconds'>[],
  now: string,
): Promise<SpentBy> {
  const spent = new Map<string, Spent[]>()
  if (limits.length === 0) return spent
  const since = new Map(limits.map(({ counter, windowSeconds }) => [counter, beginOfWindow(now, windowSeconds)]))
  const { rows } = await pool.query<Row<'spend_buckets'>>({
    name: 'spent_of_counters',
    text: `SELECT s.counter, s.bucket, s.spent FROM unnest($1::text[], $2::timestamptz[]) AS l(counter, since)
             JOIN spend_buckets AS s ON s.counter = l.counter AND s.bucket >= l.since`,
    values: [[...since.keys()], [...since.values()]],
  })
  for (const { counter, bucket, spent: amount } of rows) {
    const known = spent.get(counter) ?? []
    known.push({ bucket: toIso(bucket), amount: BigInt(amount) })
    spent.set(counter, known)
  }
  return spent
}

/** What is spent in these buckets of their counters, in order; 0 where there is none. @param buckets ISO 8601 */
export async function readBuckets(
  pool: Pick<Pool, 'query'>,
  buckets: readonly { readonly counter: string; readonly bucket: string }[],
): Promise<readonly bigint[]> {
  const { rows } = await pool.query<{ readonly n: string } & Pick<Row<'spend_buckets'>, 'spent'>>({
    name: 'spent_in_buckets',
    text: `SELECT k.n, s.spent FROM unnest($1::text[], $2::timestamptz[]) WITH ORDINALITY AS k(counter, bucket, n)
             JOIN spend_buckets AS s ON s.counter = k.counter AND s.bucket = k.bucket`,
    values: [buckets.map(({ counter }) => counter), buckets.map(({ bucket }) => bucket)],
  })
  const spent = buckets.map(() => 0n)
  for (const { n, spent: amount } of rows) spent[Number(n) - 1] = BigInt(amount)
  return spent
}
