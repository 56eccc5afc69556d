/**
 * The database's time of day, so that all processes share one clock. Between two readings it advances with this
 * process's monotonic timer: setting a machine's clock does not affect it.
 *
 * Invariant: reading the time never waits and never fails. Until the database has answered, it is the system's time.
 */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'

export type DatabaseClock = {
  /** Milliseconds since the epoch. Corrected only as far as a reading proves it wrong. */
  readonly now: Clock
  /** Reads the database's time. Never rejects: without an answer the last reading stays in force. */
  readonly read: () => Promise<void>
  readonly close: () => void
}

/**
 * Timers of different machines drift about 50 ms an hour; half a minute keeps them together and costs one small query.
 */
const READ_EVERY_MS = 30_000
/** When system time and timer differ by more, the clock was set or the machine was suspended, so read immediately. */
const MAX_DRIFT_MS = 1_000

/**
 * Starts reading immediately.
 *
 * @param wallClock the system's time of day, ms since the epoch
 * @param timer a monotonic clock, ms since any moment
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
    // The database read its clock between the request and the response. An offset consistent with that interval is not
    // changed, so that processes on one machine, or on machines with correct clocks, agree however slow a response was.
    offset = Math.min(Math.max(offset, nowMs - answeredAt), nowMs - askedAt)
  }

  function read(): Promise<void> {
    drift = wallClock() - timer()
    reading ??= ask()
      .catch(() => undefined) // The database is unavailable: its users report it, and the last reading stays in force.
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
