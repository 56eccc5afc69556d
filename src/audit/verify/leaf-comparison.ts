/**
 * Compares the leaves of the log with those of the stored tree, and determines what happened at the first difference.
 */
import type { SubscriptionPosition } from '../../event-log/subscription.ts'
import { TILE_WIDTH } from '../merkle/tiles.ts'

export type LogLeaf = {
  readonly place: SubscriptionPosition
  readonly streamId: string
  readonly streamVersion: number
  readonly hash: string
}

export type LeafDifference = {
  /** The index of the leaf. */
  readonly index: number
  /** The event of the log at this index. */
  readonly event: LogLeaf
  readonly kind: 'changed' | 'inserted' | 'removed' | 'reordered'
}

type Taken = { readonly event: LogLeaf; readonly leaf: Buffer }

/** Leaves after the first difference that are examined to determine what happened. */
const WINDOW = TILE_WIDTH

export function createLeafComparison() {
  let first: { readonly index: number; readonly event: LogLeaf } | null = null
  const found: string[] = []
  const expected: string[] = []
  return {
    /** @param kept the tree's leaf at this index, if it has one */
    take(index: number, { event, leaf }: Taken, kept: Buffer | undefined): void {
      if (first === null) {
        if (kept === undefined || kept.equals(leaf)) return
        first = { index, event }
      }
      if (index >= first.index + WINDOW) return
      found.push(leaf.toString('hex'))
      if (kept !== undefined) expected.push(kept.toString('hex'))
    },
    difference(): LeafDifference | null {
      return first === null ? null : { ...first, kind: kindOf(found, expected) }
    },
  }
}

function kindOf(found: readonly string[], expected: readonly string[]): LeafDifference['kind'] {
  const isFromElsewhere = expected.includes(found[0] ?? '')
  const isElsewhere = found.includes(expected[0] ?? '')
  if (isFromElsewhere && isElsewhere) return 'reordered'
  if (isFromElsewhere) return 'removed'
  return isElsewhere ? 'inserted' : 'changed'
}
