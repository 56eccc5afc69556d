/** The events of following a chain: reorgs, and periodically the progress. There is no event per block. */
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

export type ChainEvent = ReorgDetected | FollowerAdvanced
