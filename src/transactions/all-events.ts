/** Every event of a transaction. Capabilities declare those that open one. */
import { mapValues } from '../core/map-values.ts'
import type { Event } from '../core/messages.ts'
import type { Opening } from '../core/registry.ts'
import type { LaterEvent } from './events.ts'
import type { Intent } from './intent.ts'
import { kindsOfTransactions, opens } from './kinds.ts'

export type OpeningEvent = { [Type in Opening]: Event<Type, Intent> }[Opening]
export type TransactionEvent = OpeningEvent | LaterEvent

/** The same for each event that opens a transaction. */
export function ofOpenings<const Value>(value: Value): Readonly<Record<Opening, Value>> {
  return mapValues(kindsOfTransactions(), () => value)
}

export function isOpening(event: TransactionEvent): event is OpeningEvent {
  return opens(event.type)
}
