/**
 * The indexes of a tenant's seed, assigned one by one. Every event of the stream `keyindexes-<tenant>` uses one.
 *
 * Invariant: the next index is the stream's version, so the unique index on stream versions prevents assigning an index
 * twice, with any number of signers; and the append that assigns it also gives the wallet its address, so a crash loses
 * none.
 */
import type { Decider } from '../core/messages.ts'
import type { Aggregate, Loaded } from '../event-log/aggregate.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'

export type KeyIndexesState = { readonly next: number }

export type KeyIndexesCommand =
  | { readonly type: 'Allot'; readonly walletId: string; readonly address: string; readonly now: string }
  | { readonly type: 'Skip'; readonly address: string; readonly now: string }

const keyIndexesDecider: Decider<KeyIndexesState, KeyIndexesCommand, KeyIndexesEvent> = {
  initialState: { next: 0 },
  decide(command, { next: index }) {
    const { address, now } = command
    return command.type === 'Allot'
      ? [{ type: 'KeyIndexAllotted', data: { index, walletId: command.walletId, address, allottedAt: now } }]
      : [{ type: 'KeyIndexSkipped', data: { index, address, skippedAt: now } }]
  },
  evolve: (_before, { data }) => ({ next: data.index + 1 }),
}

const first = { version: 1, upcasters: [] }

export const keyIndexesAggregate: Aggregate<KeyIndexesState, KeyIndexesCommand, KeyIndexesEvent> = {
  ...keyIndexesDecider,
  category: 'keyindexes',
  schemas: { KeyIndexAllotted: first, KeyIndexSkipped: first },
  project: () => ({ rows: [], holds: [] }),
}

/** The aggregate from the head of its stream: its state is its version, so its events need not be read. */
export function keyIndexesAt(
  tenantId: string,
  { version, hash }: Pick<Loaded<unknown>, 'version' | 'hash'>,
): Loaded<KeyIndexesState> {
  return { id: tenantId, state: { next: version }, version, hash }
}
