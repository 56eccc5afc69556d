/** The assignment of a tenant's key indexes to wallets. */
import type { Event } from '../core/messages.ts'

export type KeyIndexAllotted = Event<
  'KeyIndexAllotted',
  { index: number; walletId: string; address: string; allottedAt: string }
>
/** The address of this index is already in use, for example after restoring a seed that was used elsewhere. */
export type KeyIndexSkipped = Event<'KeyIndexSkipped', { index: number; address: string; skippedAt: string }>

export type KeyIndexesEvent = KeyIndexAllotted | KeyIndexSkipped
