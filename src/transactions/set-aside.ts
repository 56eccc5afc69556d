/**
 * Transactions of lanes that are set aside because no node could simulate them, or because parties refuse them and not the
 * others, so that others continue. In memory: a new process tries them with the others.
 *
 * Invariant: nothing is given up here. A transaction set aside is tried again, after a pause that doubles up to ten
 * minutes. `unsimulated.ts` says when one ends.
 */
import { type Lane, laneName } from './lanes.ts'

/** A replica is usually behind for less than a second. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 600_000
/** Maximum remembered, the newest; forgotten ones are tried with the others. */
const MAX_REMEMBERED = 10_000

export type SetAside = {
  /** Transactions of a lane set aside, and neither simulated nor signed since. */
  readonly of: (lane: Lane) => readonly string[]
  /** Those of them whose pause is over. */
  readonly due: (lane: Lane) => readonly string[]
  /** @returns how often it was set aside in a row */
  readonly add: (lane: Lane, transactionId: string) => number
  /** The transaction was simulated, or no longer waits. */
  readonly forget: (transactionId: string) => void
}

type Entry = { readonly lane: string; readonly tries: number; readonly until: number }

/** @param now a monotonic clock, ms */
export function createSetAside(now: () => number): SetAside {
  const entries = new Map<string, Entry>()
  const idsIn = (lane: Lane, which: (entry: Entry) => boolean) =>
    [...entries].flatMap(([id, entry]) => (entry.lane === laneName(lane) && which(entry) ? [id] : []))
  return {
    of: (lane) => idsIn(lane, () => true),
    due: (lane) => idsIn(lane, ({ until }) => until <= now()),
    add(lane, transactionId) {
      const tries = (entries.get(transactionId)?.tries ?? 0) + 1
      const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1))
      // Inserted again: a Map keeps insertion order, so its first key is the oldest.
      entries.delete(transactionId)
      entries.set(transactionId, { lane: laneName(lane), tries, until: now() + pauseMs })
      const oldest = entries.keys().next()
      if (entries.size > MAX_REMEMBERED && !oldest.done) entries.delete(oldest.value)
      return tries
    },
    forget: (transactionId) => void entries.delete(transactionId),
  }
}
