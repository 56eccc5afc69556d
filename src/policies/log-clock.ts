/**
 * When requests were recorded, by the clock of this process: their own times are those of whoever appended them. The newest position is
 * noted now and then; what has a higher one was recorded later.
 */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'
import type { EventRow } from '../event-log/rows.ts'
import { EVENTS } from '../event-log/sql.ts'

/** Those of a day, one a minute. */
const MAX_NOTED = 1_440
/** An append takes less, and clocks of processes differ by less, ms. */
const TOLERANCE_MS = 5 * 60_000

export type LogClock = {
  /** Notes the newest position. @throws Unavailable */
  readonly note: () => Promise<void>
  /** What is wrong with the time of a request, as a sentence; `null` if it can be right. */
  readonly problemOf: (request: { readonly position: bigint; readonly requestedAt: string }) => string | null
}

export function createLogClock(pool: Pool, clock: Clock): LogClock {
  let noted: { readonly position: bigint; readonly at: number }[] = []
  return {
    async note() {
      const at = clock()
      const { rows } = await pool.query<Pick<EventRow, 'position'>>({
        name: 'newest_position',
        text: `SELECT position FROM ${EVENTS} AS events ORDER BY position DESC LIMIT 1`,
      })
      const position = BigInt(rows[0]?.position ?? 0)
      // Of one position the newest time counts, and after a restore no higher position.
      noted = [...noted.filter((one) => one.position < position), { position, at }].slice(-MAX_NOTED)
    },
    problemOf({ position, requestedAt }) {
      const time = Date.parse(requestedAt)
      const earliest = noted.findLast((one) => one.position < position)?.at ?? Number.NEGATIVE_INFINITY
      if (time >= earliest - TOLERANCE_MS && time <= clock() + TOLERANCE_MS) return null
      return `it says that it was made at ${requestedAt}, but it was recorded ${time < earliest ? 'later' : 'earlier'}`
    },
  }
}
