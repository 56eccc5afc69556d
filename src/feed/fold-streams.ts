/** Folds streams up to the events that are rendered, from the newest checkpoint before them. */
import type { AnyFold } from '../capability.ts'
import type { EventName } from '../core/event-ids.ts'
import type { Event } from '../core/messages.ts'
import type { StreamRange } from '../event-log/read-logged.ts'
import type { Checkpoint, Checkpoints } from './checkpoints.ts'

/** An event in the newest version of its schema. */
export type StreamEvent = {
  readonly streamId: string
  readonly streamVersion: number
  readonly hash: Buffer
  readonly event: Event
}

/** An event with its stream up to there. Without a fold, the first event and the states are missing. */
export type Folded = {
  readonly event: Event
  readonly first?: Event
  readonly before?: unknown
  readonly after?: unknown
}

export type FoldStreamsPorts = {
  /** Null if the events of these streams are read alone. */
  readonly foldOf: (streamId: string) => AnyFold | null
  readonly readRanges: (ranges: readonly StreamRange[]) => Promise<readonly StreamEvent[]>
  readonly checkpoints: Checkpoints
}

/**
 * The returned function has each of the events.
 *
 * @throws Error when the log does not have one of them, or one before it
 */
export type FoldStreams = (events: readonly EventName[]) => Promise<(event: EventName) => Folded>

/** Events of one stream that are read at once. */
const MOST_READ = 2_000
/** A checkpoint moves on with its reader; those at multiples of this stay, for readers that are behind. */
const STEP = 256

export function createFoldStreams({ foldOf, readRanges, checkpoints }: FoldStreamsPorts): FoldStreams {
  return async (events) => {
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
}

/** Versions of one stream, as far as they were read. */
type Run = {
  /** What is read next; null if nothing is missing. */
  readonly next: () => StreamRange | null
  readonly take: (events: readonly StreamEvent[]) => void
  readonly folded: ReadonlyMap<number, Folded>
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
  const folded = new Map<number, Folded>()
  const to = Math.max(...versions)
  let from = Math.min(...versions)
  return {
    folded,
    next: () => (from > to ? null : { streamId, from, to: Math.min(to, from + MOST_READ - 1) }),
    take(events) {
      for (const { streamVersion, event } of events)
        if (versions.has(streamVersion)) folded.set(streamVersion, { event })
      from += MOST_READ
    },
  }
}

function foldRun(
  { initialState, evolve, hasEnded }: AnyFold,
  of: { readonly streamId: string; readonly versions: ReadonlySet<number>; readonly checkpoints: Checkpoints },
): Run {
  const { streamId, versions, checkpoints } = of
  const folded = new Map<number, Folded>()
  const to = Math.max(...versions)
  const start = checkpoints.before(streamId, Math.min(...versions))
  let unchecked = start
  let known: Checkpoint | undefined = start

  const incomplete = () => new Error(`the events of ${streamId} up to ${to} are not all in the log`)

  function next(): StreamRange | null {
    const version = known?.version ?? 0
    if (version === to) return null
    // The event of the checkpoint itself is read too, for its hash.
    const from = unchecked === undefined ? version + 1 : version
    return { streamId, from, to: Math.min(to, from + MOST_READ - 1) }
  }

  function fold({ streamVersion: version, hash, event }: StreamEvent): Checkpoint {
    if (version !== (known?.version ?? 0) + 1) throw incomplete()
    const first = known?.first ?? event
    const before = known === undefined ? initialState : known.state
    const after = evolve(before, event)
    if (versions.has(version)) folded.set(version, { event, first, before, after })
    return { streamId, version, hash, first, state: after }
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
      if (head === undefined) throw incomplete()
      for (const one of isChecked ? events : events.slice(1)) {
        known = fold(one)
        const isNeeded = known.version === to ? hasEnded?.(known.state) !== true : known.version % STEP === 0
        if (isNeeded) checkpoints.keep(known)
      }
      if (known?.version === to && start !== undefined && start.version % STEP !== 0) checkpoints.drop(start)
    },
  }
}
