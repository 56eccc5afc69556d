/**
 * Transactions of lanes that are deferred because no node could simulate them, or because parties refuse them and not the
 * others, so that others continue. In memory: a new process tries them with the others.
 *
 * Invariant: nothing is given up here. A deferred transaction is tried again, after a pause that doubles up to ten
 * minutes. `isGivenUp` says when one ends: a request that is a day
 * old, and that the nodes did not simulate in twelve tries in a row, fails unsigned. Its pauses double, so that many tries
 * last a quarter of an hour at least. A node that is behind ends nothing, and `valid_until` may end it earlier.
 */

import { foreignText } from '../chain/foreign-text.ts'
import { type Lane, laneName } from './lanes.ts'

/** A replica is usually behind for less than a second. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 600_000
/** Maximum remembered, the newest; forgotten ones are tried with the others. */
const MAX_REMEMBERED = 10_000

export type Deferred = {
  /** Deferred transactions of a lane, neither simulated nor signed since. */
  readonly of: (lane: Lane) => readonly string[]
  /** Those of them whose pause is over. */
  readonly due: (lane: Lane) => readonly string[]
  /** @returns how often it was deferred in a row */
  readonly add: (lane: Lane, transactionId: string) => number
  /** The transaction was simulated, or no longer waits. */
  readonly forget: (transactionId: string) => void
}

type Entry = { readonly lane: string; readonly tries: number; readonly until: number }

/** @param now a monotonic clock, ms */
export function createDeferred(now: () => number): Deferred {
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

/** Longer than outages of nodes last. */
export const UNSIMULATED_FOR_MS = 24 * 60 * 60_000
export const UNSIMULATED_TRIES = 12
const MAX_REASON = 200

/** `silent`: no answer in time; `behind`: the node lacks a block; `refused`: the node answered with an error. */
export type UnsimulatedCause = 'silent' | 'behind' | 'refused'

export type Unsimulated = { readonly cause: UnsimulatedCause; readonly reason: string }

/** For owners: messages of connections, which may name hosts, stay with the operator. */
export function shownReason({ cause, reason }: Unsimulated): string {
  switch (cause) {
    case 'silent':
      return 'No node answered its simulation in time.'
    case 'behind':
      return 'The nodes have not seen the blocks that it depends on.'
    case 'refused':
      return `No node can simulate it: ${foreignText(reason, MAX_REASON)}`
    default:
      return cause satisfies never
  }
}

/** @param tries in a row, with the last one */
export function isGivenUp({ cause }: Unsimulated, tries: number, requestedAt: string, now: string): boolean {
  const age = Date.parse(now) - Date.parse(requestedAt)
  return cause !== 'behind' && tries >= UNSIMULATED_TRIES && age >= UNSIMULATED_FOR_MS
}

export function givenUpMessage(unsimulated: Unsimulated): string {
  return `It was not signed, because it could not be simulated for a day. ${shownReason(unsimulated)}`
}
