/** What the log keeps of following a chain: reorgs, and now and then how far it was walked. Not an event for each block. */
import type { Event } from '../core/messages.ts'

export type BlockPlace = { readonly number: number; readonly hash: string }

/** The chain left the branch that was followed: all above `ancestor` was undone. */
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
