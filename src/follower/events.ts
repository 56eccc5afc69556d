/** The events of following a chain: reorgs, what an operator says of them, and periodically the progress; none per block. */
import type { Event } from '../core/messages.ts'

export type BlockPlace = { readonly number: number; readonly hash: string }

/** The chain left the followed branch: all blocks above `ancestor` were undone. */
export type ReorgDetected = Event<
  'ReorgDetected',
  {
    readonly from: BlockPlace
    readonly ancestor: BlockPlace
    readonly depth: number
    readonly beyondWindow: boolean
    readonly detectedAt: string
  }
>
export type FollowerAdvanced = Event<'FollowerAdvanced', { readonly block: BlockPlace; readonly advancedAt: string }>

/**
 * An operator lets the follower leave a branch that it refused to leave: below `final`, or for the chain whose block 0 is
 * `genesis`. It holds for one reorg.
 */
export type ReorgAccepted = Event<
  'ReorgAccepted',
  {
    readonly final: BlockPlace | null
    readonly genesis: string | null
    readonly reason: string
    readonly acceptedAt: string
  }
>

export type ChainEvent = ReorgDetected | FollowerAdvanced | ReorgAccepted
