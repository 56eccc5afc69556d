/** What a verification has seen, before anybody judges it. */
import type { BadEvent } from '../chain/chain-check.ts'
import type { Checkpoint } from '../note/checkpoint.ts'
import type { TreeState } from '../tree/tile-store.ts'
import type { TreeFindings } from './verify-tree.ts'

/** A checkpoint whose signature is good, and where it was found. */
export type KnownCheckpoint = Checkpoint & { readonly source: string }

export type Evidence = {
  /** The first event that breaks its chain. */
  readonly bad: BadEvent | null
  readonly tree: TreeFindings
  readonly state: TreeState
  readonly checkpoints: readonly KnownCheckpoint[]
}
