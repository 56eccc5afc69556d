/** An attacker with the database login of one process: it appends what it likes, with valid hashes. */
import pg from 'pg'
import type { Test } from 'tap'
import type { Event, Metadata } from '../../src/core/messages.ts'
import { type Aggregate, decideOn } from '../../src/event-log/aggregate.ts'
import { createEventLog, type EventLog } from '../../src/event-log/log.ts'
import type { WakeUps } from '../../src/event-log/wake-ups.ts'

/** The log through a login of its own. */
export function logOf(t: Test, url: string, wakeUps: WakeUps): EventLog {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => undefined) // The server may end it with its database.
  t.after(() => pool.end())
  return createEventLog({ pool, wakeUps, clock: Date.now })
}

/** Appends events that no decider made. @param rows `false` leaves the read models as they are */
export async function forge<State, Command, Evt extends Event>(
  log: EventLog,
  aggregate: Aggregate<State, Command, Evt>,
  id: string,
  events: readonly Evt[],
  { metadata, rows = true }: { readonly metadata: Metadata; readonly rows?: boolean },
): Promise<void> {
  const now = log.now()
  const forged = decideOn({ ...aggregate, decide: () => events }, await log.load(aggregate, id), undefined as Command, {
    metadata,
    now,
  })
  if (forged === null) throw new Error('no event was forged')
  await log.append({ decisions: [rows ? forged : { ...forged, readModels: { rows: [], holds: [] } }] })
}
