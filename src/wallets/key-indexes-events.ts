/** The assignment of a tenant's key indexes to wallets. */
import type { Event } from '../core/messages.ts'

export type KeyIndexAllotted = Event<
  'KeyIndexAllotted',
  { index: number; walletId: string; address: string; allottedAt: string }
>
/** The address of this index is already in use, for example after restoring a seed that was used elsewhere. */
export type KeyIndexSkipped = Event<'KeyIndexSkipped', { index: number; address: string; skippedAt: string }>
/**
 * The following indexes continue from `from`: the log may have forgotten which indexes of the range before were assigned,
 * or that range is used up. `restores`: how often there was evidence of a restore by then.
 */
export type KeyIndexRangeStarted = Event<'KeyIndexRangeStarted', { from: number; restores: number; startedAt: string }>

export type KeyIndexesEvent = KeyIndexAllotted | KeyIndexSkipped | KeyIndexRangeStarted
