/**
 * Folds streams up to the events that are rendered, from the newest checkpoint before them. An event that cannot be read,
 * or that does not follow the one before it, has no effect and is not rendered; the stream goes on behind it.
 */
import type { AnyFold } from '../capability.ts'
import type { EventName } from '../core/event-ids.ts'
import type { Event } from '../core/messages.ts'
import type { StreamRange } from '../event-log/read-logged.ts'
import type { Checkpoint, Checkpoints } from './checkpoints.ts'

/** An event in the newest version of its schema; `null` if it cannot be read. */
export type StreamEvent = {
  readonly streamId: string
  readonly streamVersion: number
  readonly hash: Buffer
  readonly event: Event | null
}

/** An event with its stream up to there. Without a fold, the first event and the states are missing. */
export type Folded = {
  readonly event: Event
  readonly first?: Event
  readonly before?: unknown
  readonly after?: unknown
}

/** Events of one stream that are read at once. */
export const MOST_READ = 2_000
/** A checkpoint moves on with its reader; those at multiples of this stay, for readers that are behind. */
const STEP = 256

/**
 * The returned function has each of the events; `null` for one that cannot be read.
 *
 * @throws Error when the log does not have one of them
 */
export async function foldStreams(
  ctx: {
    /** Null if the events of these streams are read alone. */
    readonly foldOf: (streamId: string) => AnyFold | null
    /** At most `MOST_READ` of each range. */
    readonly readRanges: (ranges: readonly StreamRange[]) => Promise<readonly StreamEvent[]>
    readonly checkpoints: Checkpoints
  },
  events: readonly EventName[],
): Promise<(event: EventName) => Folded | null> {
  const { foldOf, readRanges, checkpoints } = ctx
  const runs = new Map<string, Run>()
  for (const [streamId, versions] of versionsOf(events)) {
    const fold = foldOf(streamId)
    const run = fold === null ? readAlone(streamId, versions) : foldRun(fold, { streamId, versions, checkpoints })
    runs.set(streamId, run)
  }
  for (let ranges = nextOf(runs); ranges.length > 0; ranges = nextOf(runs)) {
    const read = new Map<string, StreamEvent[]>(ranges.map(({ streamId }) => [streamId, []]))
    for (const one of await readRanges(ranges)) read.get(one.streamId)?.push(one)
    for (const [streamId, own] of read) runs.get(streamId)?.take(own)
  }
  return ({ streamId, streamVersion }) => {
    const folded = runs.get(streamId)?.folded.get(streamVersion)
    if (folded === undefined) throw new Error(`the log does not have version ${streamVersion} of ${streamId}`)
    return folded
  }
}

/** Versions of one stream, as far as they were read. */
type Run = {
  /** What is read next; null if nothing is missing. */
  readonly next: () => StreamRange | null
  readonly take: (events: readonly StreamEvent[]) => void
  readonly folded: ReadonlyMap<number, Folded | null>
}

function nextOf(runs: ReadonlyMap<string, Run>): StreamRange[] {
  return [...runs.values()].flatMap((run) => run.next() ?? [])
}

function versionsOf(events: readonly EventName[]): ReadonlyMap<string, ReadonlySet<number>> {
  const versions = new Map<string, Set<number>>()
  for (const { streamId, streamVersion } of events) {
    const own = versions.get(streamId)
    if (own === undefined) versions.set(streamId, new Set([streamVersion]))
    else own.add(streamVersion)
  }
  return versions
}

function readAlone(streamId: string, versions: ReadonlySet<number>): Run {
  const folded = new Map<number, Folded | null>()
  const to = Math.max(...versions)
  let from: number | null = Math.min(...versions)
  return {
    folded,
    next: () => (from === null || from > to ? null : { streamId, from, to }),
    take(events) {
      for (const { streamVersion, event } of events)
        if (versions.has(streamVersion)) folded.set(streamVersion, event && { event })
      const last = events.at(-1)
      from = last === undefined ? null : last.streamVersion + 1
    },
  }
}

/** As a checkpoint, also of a stream whose first event cannot be read. */
type Place = Omit<Checkpoint, 'first'> & { readonly first: Event | null }

function foldRun(
  { initialState, evolve, hasEnded }: AnyFold,
  of: { readonly streamId: string; readonly versions: ReadonlySet<number>; readonly checkpoints: Checkpoints },
): Run {
  const { streamId, versions, checkpoints } = of
  const folded = new Map<number, Folded | null>()
  const to = Math.max(...versions)
  const start = checkpoints.before(streamId, Math.min(...versions))
  let unchecked = start
  let known: Place | undefined = start
  let isRead = false

  function next(): StreamRange | null {
    const version = known?.version ?? 0
    if (isRead || version === to) return null
    // The event of the checkpoint itself is read too, for its hash.
    return { streamId, from: unchecked === undefined ? version + 1 : version, to }
  }

  function fold({ streamVersion: version, hash, event }: StreamEvent): Place {
    const before = known === undefined ? initialState : known.state
    const isNext = version === (known?.version ?? 0) + 1
    const after = event === null || !isNext ? NOT_READ : tryEvolve(evolve, before, event)
    const first = known === undefined ? (after === NOT_READ ? null : event) : known.first
    const isKnown = after !== NOT_READ && event !== null && first !== null
    if (versions.has(version)) folded.set(version, isKnown ? { event, first, before, after } : null)
    return { streamId, version, hash, first, state: isKnown ? after : before }
  }

  function keep({ first, ...place }: Place): void {
    const isNeeded = place.version === to ? hasEnded?.(place.state) !== true : place.version % STEP === 0
    if (isNeeded && first !== null) checkpoints.keep({ ...place, first })
  }

  return {
    folded,
    next,
    take(events) {
      const [head] = events
      const isChecked = unchecked === undefined
      if (unchecked !== undefined && !(head?.streamVersion === unchecked.version && head.hash.equals(unchecked.hash))) {
        // The database was restored to an earlier state.
        checkpoints.forget(streamId)
        known = undefined
        unchecked = undefined
        return
      }
      unchecked = undefined
      const fresh = isChecked ? events : events.slice(1)
      isRead = fresh.length === 0
      for (const one of fresh) {
        known = fold(one)
        keep(known)
      }
      if (known?.version === to && start !== undefined && start.version % STEP !== 0) checkpoints.drop(start)
    },
  }
}

const NOT_READ = Symbol('not read')

function tryEvolve(evolve: AnyFold['evolve'], before: unknown, event: Event): unknown {
  try {
    return evolve(before, event)
  } catch {
    return NOT_READ
  }
}
