/** Which child of a tenant's seed went to which wallet. */
import type { Event } from '../core/messages.ts'

export type KeyIndexAllotted = Event<
  'KeyIndexAllotted',
  { index: number; walletId: string; address: string; allottedAt: string }
>
/** The address of this index is in use already, as after the return of a seed that was used elsewhere. */
export type KeyIndexSkipped = Event<'KeyIndexSkipped', { index: number; address: string; skippedAt: string }>

export type KeyIndexesEvent = KeyIndexAllotted | KeyIndexSkipped
