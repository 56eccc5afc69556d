/** Judges one event of the log as its readers do: only what is in fact bad may be set aside. */
import type { Pool } from 'pg'
import { Conflict, NotFound } from '../../core/errors.ts'
import { type EventName, eventIdOf } from '../../core/event-ids.ts'
import type { Event } from '../../core/messages.ts'
import type { Aggregate } from '../../event-log/aggregate.ts'
import type { AnyAggregate } from '../../event-log/fold.ts'
import { readNext, startOf } from '../../event-log/read-next.ts'
import { EVENT_COLUMNS, type EventRow, STORED_TEXTS } from '../../event-log/rows.ts'
import { readSetAside } from '../../event-log/set-aside.ts'

export type JudgedEvent = EventName & {
  readonly hash: string
  /** What is wrong with it, as a sentence. */
  readonly problem: string
  /** What happens to its stream when it is set aside: as `Aggregate.whenSetAside`, or it goes on without the event. */
  readonly stream: 'end' | 'hold' | 'goes_on'
}

type Reading = Pick<Aggregate<unknown, never, Event>, 'schemas' | 'initialState' | 'evolve' | 'whenSetAside'>

/** For a stream that no aggregate knows: none of its events can be read. */
const UNKNOWN: Reading = { schemas: {}, initialState: null, evolve: () => null }

/**
 * @throws NotFound `event_not_found`; Conflict `event_is_good`, `earlier_event_is_bad` or `already_set_aside`
 */
export async function judgeEvent(
  pool: Pool,
  aggregates: readonly AnyAggregate[],
  name: EventName,
): Promise<JudgedEvent> {
  const { streamId, streamVersion } = name
  const { rows } = await pool.query<EventRow>({
    text: `SELECT ${EVENT_COLUMNS} FROM events WHERE stream_id = $1 AND stream_version <= $2 ORDER BY stream_version`,
    values: [streamId, streamVersion],
    types: STORED_TEXTS,
  })
  const row = rows.at(-1)
  if (row === undefined || row.stream_version !== streamVersion)
    throw new NotFound('event', undefined, `The log has no event ${eventIdOf(name)}.`)
  const hash = row.hash.toString('hex')
  const setAside = await readSetAside(pool)
  if (setAside.has({ ...name, hash }))
    throw new Conflict('already_set_aside', `${eventIdOf(name)} was set aside already.`)
  const found = aggregates.find(({ category }) => category === streamId.slice(0, streamId.indexOf('-')))
  const {
    schemas,
    initialState,
    evolve,
    whenSetAside = 'goes_on',
  } = (found as unknown as Reading | undefined) ?? UNKNOWN
  const part = startOf(initialState)
  for (const one of rows) {
    readNext({ schemas, evolve }, part, one, { hashes: true, setAside })
    if (part.held === null || one === row) continue
    const earlier = eventIdOf({ streamId, streamVersion: one.stream_version })
    throw new Conflict('earlier_event_is_bad', `${earlier} is bad too: set it aside first. ${part.held}`)
  }
  if (part.held !== null) return { ...name, hash, problem: part.held, stream: whenSetAside }
  throw new Conflict(
    'event_is_good',
    `${eventIdOf(name)} is what was appended, and can be read: it cannot be set aside.`,
  )
}
