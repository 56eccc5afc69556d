/** The evidence collected by a verification, before it is judged. */

import type { SetAside } from '../../event-log/set-aside.ts'
import type { BadEvent } from '../chain/chain-check.ts'
import type { Checkpoint } from '../note/checkpoint.ts'
import type { TreeState } from '../tree/tile-store.ts'
import type { TreeFindings } from './verify-tree.ts'

/** A checkpoint with a valid signature, and where it was found. */
export type KnownCheckpoint = Checkpoint & { readonly source: string }

export type Evidence = {
  /** The first events that break their hash chains. */
  readonly bad: readonly BadEvent[]
  /** How many do. */
  readonly badEvents: number
  readonly setAside: SetAside
  readonly tree: TreeFindings
  readonly state: TreeState
  readonly checkpoints: readonly KnownCheckpoint[]
}
