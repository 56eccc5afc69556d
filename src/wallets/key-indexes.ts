/**
 * The indexes of a tenant's seed, assigned one by one in ranges. The first range begins at 0; another one begins after
 * each restore of the database, since the log may then have forgotten wallets, and when a range is used up.
 *
 * Invariant: an index is assigned once. The next one follows from the newest event of the stream `keyindexes-<tenant>`,
 * whose unique versions prevent two signers from assigning it; the append that assigns it also gives the wallet its
 * address, so a crash loses none. A range that the log has forgotten as well, in two restores of which the second goes
 * back further, is chosen again with a chance of 1 in 2,047: ranges are chosen at random.
 */
import { Conflict } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import type { Aggregate } from '../event-log/aggregate.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'

/** Indexes in a range. */
export const KEY_RANGE_SIZE = 2 ** 20
/** Ranges below 2^31, from which on indexes are hardened (BIP-32). */
export const KEY_RANGES = 2 ** 31 / KEY_RANGE_SIZE

export type KeyIndexesState = {
  readonly next: number
  /** How often there was evidence of a restore when the newest range began. */
  readonly restores: number
  /** Where ranges began. */
  readonly begun: readonly number[]
}

export type KeyIndexesCommand =
  /** The next indexes, one for each wallet in this order: no more than the range has. */
  | {
      readonly type: 'Allot'
      readonly wallets: readonly { readonly walletId: string; readonly address: string }[]
      readonly now: string
    }
  | { readonly type: 'Skip'; readonly address: string; readonly now: string }
  /** @param draw a random number from 0 to 1, without 1 */
  | { readonly type: 'StartRange'; readonly restores: number; readonly draw: number; readonly now: string }

const keyIndexesDecider: Decider<KeyIndexesState, KeyIndexesCommand, KeyIndexesEvent> = {
  initialState: { next: 0, restores: 0, begun: [0] },
  decide(command, state) {
    const { next: index } = state
    const { now } = command
    switch (command.type) {
      case 'Allot':
        if (command.wallets.length > leftIn(state)) throw new Error('the range has fewer indexes than wallets')
        return command.wallets.map(({ walletId, address }, n) => ({
          type: 'KeyIndexAllotted',
          data: { index: index + n, walletId, address, allottedAt: now },
        }))
      case 'Skip':
        return [{ type: 'KeyIndexSkipped', data: { index, address: command.address, skippedAt: now } }]
      case 'StartRange': {
        const { restores, draw } = command
        if (!needsRange(state, restores)) return []
        return [{ type: 'KeyIndexRangeStarted', data: { from: unused(state, draw), restores, startedAt: now } }]
      }
    }
  },
  evolve(before, { type, data }) {
    if (type !== 'KeyIndexRangeStarted') return { ...before, next: data.index + 1 }
    return { next: data.from, restores: data.restores, begun: [...before.begun, data.from] }
  },
}

/** Whether the next index must be of another range. @param restores how often there was evidence of a restore */
export function needsRange(state: KeyIndexesState, restores: number): boolean {
  return restores > state.restores || leftIn(state) <= 0
}

/** How many indexes of the newest range are not assigned. */
export function leftIn({ next, begun }: KeyIndexesState): number {
  return (begun.at(-1) ?? 0) + KEY_RANGE_SIZE - next
}

/** The beginning of a range in which nothing was assigned. */
function unused({ begun }: KeyIndexesState, draw: number): number {
  const free = Array.from({ length: KEY_RANGES }, (_, n) => n * KEY_RANGE_SIZE).filter((from) => !begun.includes(from))
  const from = free[Math.floor(draw * free.length)]
  if (from !== undefined) return from
  throw new Conflict(
    'key_indexes_used_up',
    `All ${KEY_RANGES} ranges of key indexes of this tenant are used: no more hd wallets can be created for it.`,
  )
}

const first = { version: 1, upcasters: [] }

export const keyIndexesAggregate: Aggregate<KeyIndexesState, KeyIndexesCommand, KeyIndexesEvent> = {
  ...keyIndexesDecider,
  category: 'keyindexes',
  whenSetAside: 'end',
  schemas: { KeyIndexAllotted: first, KeyIndexSkipped: first, KeyIndexRangeStarted: first },
  project: () => ({ rows: [], holds: [] }),
}
