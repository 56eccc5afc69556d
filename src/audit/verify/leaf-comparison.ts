/** Compares the leaves of the log with those of the tree that is kept, and tells what happened where they first differ. */
import type { Checkpoint } from '../../event-log/subscription.ts'
import { TILE_WIDTH } from '../merkle/tiles.ts'

export type LogLeaf = {
  readonly place: Checkpoint
  readonly streamId: string
  readonly streamVersion: number
  readonly hash: string
}

export type LeafDifference = {
  /** The index of the leaf. */
  readonly index: number
  /** What the log has there. */
  readonly event: LogLeaf
  readonly kind: 'changed' | 'inserted' | 'removed' | 'reordered'
}

type Taken = { readonly event: LogLeaf; readonly leaf: Buffer }

/** How much is looked at behind the first difference to tell what happened. */
const WINDOW = TILE_WIDTH

export function createLeafComparison() {
  let first: { readonly index: number; readonly event: LogLeaf } | null = null
  const found: string[] = []
  const expected: string[] = []
  return {
    /** @param kept the leaf that the tree has at this index, if it has come so far */
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
