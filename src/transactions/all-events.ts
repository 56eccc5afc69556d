/** Every event of a transaction. Capabilities declare those that open one. */
import type { Event } from '../core/messages.ts'
import type { Recorded } from '../core/recorded.ts'
import type { Opening } from '../core/registry.ts'
import { TRANSACTION_TYPES } from '../declarations.ts'
import type { Intent, LaterEvent } from './events.ts'

export type OpeningEvent = { [Type in Opening]: Event<Type, Recorded<Intent>> }[Opening]
export type TransactionEvent = OpeningEvent | LaterEvent

export function isOpening(event: TransactionEvent): event is OpeningEvent {
  return event.type in TRANSACTION_TYPES
}
