/** A transaction in the form of the API, from its events alone: as it was when the newest of them was recorded. Pure. */
import type { RecordedEvent } from '../core/messages.ts'
import { projectEvents } from '../event-log/project-stream.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionEvent } from './all-events.ts'
import { type TransactionRow, type TransactionView, toView } from './view.ts'

/**
 * Null without events. Confirmations are those that the events name.
 *
 * @param events the first ones of a stream
 * @param of.required the confirmations that the settings require
 */
export function viewOfEvents(
  events: readonly RecordedEvent<TransactionEvent>[],
  of: { readonly tenantId: string; readonly id: string; readonly required: number },
): TransactionView | null {
  const [row] = projectEvents(transactionAggregate, events, of, 'transactions')
  const head = events.reduce<number | null>((before, event) => headAt(event, before), null)
  return row === undefined ? null : toView(row as TransactionRow, { head, required: of.required }, true)
}

/** The newest block that the event names. */
function headAt(event: TransactionEvent, before: number | null): number | null {
  switch (event.type) {
    case 'TransactionMined':
      return event.data.blockNumber
    case 'TransactionConfirmed':
    case 'TransactionReverted':
      return event.data.blockNumber + event.data.confirmations - 1
    default:
      return before
  }
}
