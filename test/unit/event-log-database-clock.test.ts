import t from 'tap'
import { createDatabaseClock, type DatabaseClock } from '../../src/event-log/database-clock.ts'

const HOUR_MS = 3_600_000

/** A machine and a database with clocks that a test sets. */
function withClocks(database = 2_000_000) {
  const clocks = { wall: 1_000_000, timer: 500, database, roundTripMs: 0, isAway: false, asked: 0 }
  const pool = {
    async query() {
      clocks.asked += 1
      if (clocks.isAway) throw new Error('away')
      clocks.timer += clocks.roundTripMs
      clocks.wall += clocks.roundTripMs
      clocks.database += clocks.roundTripMs
      return { rows: [{ now_ms: String(clocks.database - clocks.roundTripMs / 2) }] }
    },
  }
  const clock = createDatabaseClock(
    pool as never,
    () => clocks.wall,
    () => clocks.timer,
  )
  const pass = (milliseconds: number) => {
    clocks.wall += milliseconds
    clocks.timer += milliseconds
    clocks.database += milliseconds
  }
  return { clocks, clock, pass }
}

const settled = async ({ read }: DatabaseClock) => read()

t.test('a process uses the time of the database, whatever the clock of its machine', async (t) => {
  const { clocks, clock, pass } = withClocks()
  t.teardown(clock.close)
  await settled(clock)
  t.equal(clock.now(), clocks.database)
  pass(1_234)
  t.equal(clock.now(), clocks.database)
})

t.test('before the database has answered, and where it never does, the time is the system clock', async (t) => {
  const { clocks, clock, pass } = withClocks()
  t.teardown(clock.close)
  t.equal(clock.now(), clocks.wall)
  clocks.isAway = true
  await settled(clock)
  await clock.read()
  const away = clock.now()
  pass(10)
  t.equal(clock.now(), away + 10, 'the clock continues without the database')
})

for (const aheadMs of [HOUR_MS, -HOUR_MS]) {
  t.test(
    `a system clock that is set by ${aheadMs / HOUR_MS} h moves nothing, and has the database asked again`,
    async (t) => {
      const { clocks, clock } = withClocks()
      t.teardown(clock.close)
      await settled(clock)
      const { asked } = clocks
      clocks.wall += aheadMs
      t.equal(clock.now(), clocks.database)
      await settled(clock)
      t.equal(clocks.asked, asked + 1)
      t.equal(clock.now(), clocks.database)
      t.equal(clocks.asked, asked + 1, 'the clock asks the database only once')
    },
  )
}

t.test('after a suspension, in which its timer stopped, a process has the right time again', async (t) => {
  const { clocks, clock } = withClocks()
  t.teardown(clock.close)
  await settled(clock)
  clocks.wall += HOUR_MS
  clocks.database += HOUR_MS
  clock.now()
  await settled(clock)
  t.equal(clock.now(), clocks.database)
})

t.test('an answer moves the time no further than it proves, however long it took', async (t) => {
  const { clocks, clock } = withClocks()
  t.teardown(clock.close)
  await settled(clock)
  clocks.database += HOUR_MS
  for (const roundTripMs of [5_000, 100]) {
    clocks.roundTripMs = roundTripMs
    await clock.read()
    t.equal(clock.now(), clocks.database - roundTripMs / 2, `half of ${roundTripMs} ms is subtracted`)
  }
})

t.test('slow answers do not change a correct clock, so that all processes have the same time', async (t) => {
  const { clocks, clock } = withClocks(1_000_000)
  t.teardown(clock.close)
  for (const roundTripMs of [0, 900, 7_000]) {
    clocks.roundTripMs = roundTripMs
    await clock.read()
    t.equal(clock.now(), clocks.wall, `an answer after ${roundTripMs} ms does not change the clock`)
  }
})

t.end()
