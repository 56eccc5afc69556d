/**
 * Which transactions of lanes are left alone because no node could simulate them, so that all others go on. Kept in memory: a
 * process that starts anew tries them with the others.
 *
 * Invariant: nothing is given up here. What is set aside is tried again, after a pause that doubles up to ten minutes.
 */
import { type Lane, laneName } from './lanes.ts'

/** A replica is behind for less than a second. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 600_000
/** So many are remembered, the newest; what is forgotten is tried with the others. */
const MAX_REMEMBERED = 10_000

export type SetAside = {
  /** What was set aside in a lane and has not been simulated since. */
  readonly of: (lane: Lane) => readonly string[]
  /** Those of them whose pause is over. */
  readonly due: (lane: Lane) => readonly string[]
  readonly add: (lane: Lane, transactionId: string) => void
  /** It was simulated, or waits no more. */
  readonly forget: (transactionId: string) => void
}

type Entry = { readonly lane: string; readonly tries: number; readonly until: number }

/** @param now a clock, ms, that nobody sets */
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
      // Set again: a Map keeps the order of insertion, so that its first key is the oldest.
      entries.delete(transactionId)
      entries.set(transactionId, { lane: laneName(lane), tries, until: now() + pauseMs })
      const oldest = entries.keys().next()
      if (entries.size > MAX_REMEMBERED && !oldest.done) entries.delete(oldest.value)
    },
    forget: (transactionId) => void entries.delete(transactionId),
  }
}
