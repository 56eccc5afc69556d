/**
 * Reads a stream event by event, as far as it can be read. It ends before an event that does not continue the chain, that
 * this version of Bursar does not know, or whose data its functions cannot read: one bad event holds its own stream and
 * nothing else.
 *
 * An event that an operator has set aside has no effect, and the stream goes on behind it, from its version and hash. Of
 * a stream whose events say what was signed it is the end: a signature may be hidden there, so nothing is added.
 */
import type { Event } from '../core/messages.ts'
import { type Aggregate, upcast } from './aggregate.ts'
import { chainProblem, placeOf, versionProblem } from './chain-check.ts'
import type { EventRow } from './rows.ts'
import { NOTHING_SET_ASIDE, type SetAside } from './set-aside.ts'

/** What was read of a stream. It changes with each event. */
export type StreamPart<State> = {
  state: State
  version: number
  hash: string
  /** Why nothing more is read or added, as a sentence; `null` while the stream goes on. */
  held: string | null
  /** Whether it ends at an event that was set aside. */
  isSetAside: boolean
}

type Reads<State, Evt extends Event> = Pick<Aggregate<State, never, Evt>, 'schemas' | 'whenSetAside'> & {
  readonly evolve: (state: State, event: Evt) => unknown
}

export function startOf<State>(initialState: State): StreamPart<State> {
  return { state: initialState, version: 0, hash: '', held: null, isSetAside: false }
}

/**
 * Reads the next event into `part`.
 *
 * @param judge called with an event that can be read and the state after it; it is bad if this throws
 * @returns the event; `null` if it has no effect
 */
export function readNext<State, Evt extends Event>(
  aggregate: Reads<State, Evt>,
  part: StreamPart<State>,
  row: EventRow,
  {
    hashes,
    setAside = NOTHING_SET_ASIDE,
  }: {
    /** Whether every event's hash is computed, and not only those of streams with an event that was set aside. */
    readonly hashes: boolean
    readonly setAside?: SetAside
  },
  judge?: (event: Evt, after: State) => void,
): Evt | null {
  if (part.held !== null) return null
  const isWatched = setAside.streams.has(row.stream_id)
  const hash = row.hash.toString('hex')
  const read = tryRead(aggregate, part, row, { computesHash: hashes || isWatched, judge })
  if (!('problem' in read)) {
    Object.assign(part, { state: read.after, version: row.stream_version, hash })
    return read.event
  }
  const isListed = isWatched && setAside.has({ streamId: row.stream_id, streamVersion: row.stream_version, hash })
  if (isListed && aggregate.whenSetAside === undefined) Object.assign(part, { version: row.stream_version, hash })
  else
    Object.assign(part, {
      isSetAside: isListed,
      held: isListed ? `${placeOf(row)} was set aside by an operator, and nothing is added behind it.` : read.problem,
    })
  return null
}

function tryRead<State, Evt extends Event>(
  { schemas, evolve }: Reads<State, Evt>,
  before: StreamPart<State>,
  row: EventRow,
  {
    computesHash,
    judge,
  }: { readonly computesHash: boolean; readonly judge: ((event: Evt, after: State) => void) | undefined },
): { readonly event: Evt; readonly after: State } | { readonly problem: string } {
  try {
    const problem = computesHash ? chainProblem(before, row) : versionProblem(before, row)
    if (problem !== null) return { problem }
    if (typeof row.metadata.tenantId !== 'string') throw new Error('it has no tenant')
    const event = upcast<Evt>(schemas, row.type, row.schema_version, row.data)
    const after = evolve(before.state, event) as State
    judge?.(event, after)
    return { event, after }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return {
      problem: `${placeOf(row)}, ${row.type} in schema version ${row.schema_version}, cannot be read: ${reason}.`,
    }
  }
}
