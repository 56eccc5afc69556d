/**
 * The time of day as the database has it, so that all processes have the same one. Between two readings it goes on with this
 * process's monotonic timer: setting the clock of a machine moves nothing that is timed here.
 *
 * Invariant: asking for the time never waits and never fails. Until the database has answered, it is the system's.
 */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'

export type DatabaseClock = {
  /** Milliseconds since the epoch. It is moved only as far as a reading proves it wrong. */
  readonly now: Clock
  /** Reads the database's time once more. Never rejects: without an answer the last reading holds. */
  readonly read: () => Promise<void>
  readonly close: () => void
}

/** Timers of machines part by some 50 ms in an hour; half a minute keeps them together and costs one tiny query. */
const READ_EVERY_MS = 30_000
/** When system time and timer part by more, the clock was set, or the machine slept, during which no timer ran: read at once. */
const MAX_DRIFT_MS = 1_000

/**
 * Begins to read at once.
 *
 * @param wallClock the system's time of day, ms since the epoch
 * @param timer a clock that is never set, ms since any moment
 */
export function createDatabaseClock(
  pool: Pick<Pool, 'query'>,
  wallClock: Clock = () => Date.now(),
  timer: Clock = () => performance.now(),
): DatabaseClock {
  let drift = wallClock() - timer()
  let offset = drift
  let reading: Promise<void> | null = null

  async function ask(): Promise<void> {
    const askedAt = timer()
    const { rows } = await pool.query<{ now_ms: string }>({
      name: 'database_clock',
      text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now_ms',
    })
    const answeredAt = timer()
    const nowMs = Number(rows[0]?.now_ms)
    if (!Number.isFinite(nowMs)) return
    // The database looked at its clock somewhere between the question and the answer. What agrees with that is left alone, so that
    // processes of one machine, or of machines whose clocks are right, tell the same time however slow an answer was.
    offset = Math.min(Math.max(offset, nowMs - answeredAt), nowMs - askedAt)
  }

  function read(): Promise<void> {
    drift = wallClock() - timer()
    reading ??= ask()
      .catch(() => undefined) // The database is away: who needs it will say so, and the last reading holds.
      .finally(() => {
        reading = null
      })
    return reading
  }

  void read()
  const interval = setInterval(() => void read(), READ_EVERY_MS).unref()
  return {
    now() {
      if (Math.abs(wallClock() - timer() - drift) > MAX_DRIFT_MS) void read()
      return Math.floor(offset + timer())
    },
    read,
    close: () => clearInterval(interval),
  }
}
