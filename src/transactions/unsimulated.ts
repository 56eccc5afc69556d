/**
 * Requests that no node can simulate: what their owners read, and when they end. Pure.
 *
 * Rule: a request that is a day old, and that the nodes did not simulate in twelve tries in a row, fails unsigned. Its
 * pauses double, so that many tries last a quarter of an hour at least. A node that is behind ends nothing, and
 * `valid_until` may end it earlier.
 */
import { foreignText } from '../chain/foreign-text.ts'

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
