/** When a request can have been recorded, by the clock of who signs and by its position in the log. */
import type { Pool } from 'pg'
import t from 'tap'
import { createLogClock } from '../../src/policies/log-clock.ts'

const NOON = Date.parse('2026-11-26T12:00:00.000Z')
const MINUTE_MS = 60_000

function withClock() {
  const now = { ms: NOON, position: 10n }
  const pool = { query: async () => ({ rows: [{ position: now.position }] }) } as unknown as Pool
  const times = createLogClock(pool, () => now.ms)
  /** @param minutes from noon */
  const problem = (position: bigint, minutes: number) =>
    times.problemOf({ position, requestedAt: new Date(NOON + minutes * MINUTE_MS).toISOString() })
  return { now, times, problem }
}

t.test('what is recorded behind a noted position cannot be older than that, but for some minutes', async (t) => {
  const { now, times, problem } = withClock()
  t.equal(problem(11n, -600), null, 'nothing was noted')
  await times.note()
  t.match(problem(11n, -6), /was recorded later/)
  t.equal(problem(11n, -4), null)
  t.equal(problem(10n, -600), null, 'what was there before may be of any time')
  now.ms += 30 * MINUTE_MS
  await times.note()
  t.match(problem(11n, 20), /was recorded later/, 'the log was quiet: the newest time counts')
  now.position = 20n
  now.ms += 30 * MINUTE_MS
  await times.note()
  t.equal(problem(15n, 26), null)
  t.match(problem(15n, 20), /was recorded later/)
  t.match(problem(21n, 50), /was recorded later/)
})

t.test(
  'a request from the future is refused, and a restore to an earlier state forgets what is not there',
  async (t) => {
    const { now, times, problem } = withClock()
    t.match(problem(11n, 6), /was recorded earlier/)
    t.equal(problem(11n, 4), null)
    await times.note()
    now.position = 5n
    now.ms += 60 * MINUTE_MS
    await times.note()
    t.match(problem(8n, 50), /was recorded later/)
    t.equal(problem(5n, -600), null)
  },
)
