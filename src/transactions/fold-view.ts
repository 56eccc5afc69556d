/** A transaction in the form of the API, from its events alone: as it was when one of them was recorded. Pure. */
import type { StreamFold } from '../capability.ts'
import type { RecordedEvent } from '../core/messages.ts'
import type { ProjectionContext } from '../event-log/aggregate.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionEvent } from './all-events.ts'
import type { TransactionState } from './state.ts'
import type { TransactionRow } from './transaction-row.ts'
import { type TransactionView, toView } from './view.ts'

/** The state after an event, and the newest block that an event has named. */
export type TransactionAtEvent = { readonly transaction: TransactionState; readonly head: number | null }

const { category, initialState, evolve, hasEnded } = transactionAggregate

export const transactionFold: StreamFold<TransactionAtEvent, TransactionEvent> = {
  category,
  initialState: { transaction: initialState, head: null },
  evolve: ({ transaction, head }, event) => ({ transaction: evolve(transaction, event), head: headAt(event, head) }),
  hasEnded: ({ transaction }) => hasEnded?.(transaction) ?? false,
}

type Folded = ProjectionContext & { readonly before: TransactionAtEvent; readonly after: TransactionAtEvent }

/**
 * Null for a stream that does not begin with a request. Confirmations are those that the events name.
 *
 * @param required the confirmations that the settings require
 */
export function viewOfFolded(folded: Folded, required: number): TransactionView | null {
  const { id, tenantId, version, recordedAt, before, after } = folded
  const states = { before: before.transaction, after: after.transaction }
  const [row] = projectChange(transactionAggregate, { id, tenantId, version, recordedAt, ...states }, 'transactions')
  return row === undefined ? null : toView(row as TransactionRow, { head: after.head, required }, true)
}

/** As `viewOfFolded` as of the newest of the events; null without events. @param events the first ones of a stream */
export function viewOfEvents(
  events: readonly RecordedEvent<TransactionEvent>[],
  { required, ...stream }: { readonly tenantId: string; readonly id: string; readonly required: number },
): TransactionView | null {
  const last = events.at(-1)
  if (last === undefined) return null
  const before = events.slice(0, -1).reduce(transactionFold.evolve, transactionFold.initialState)
  const after = transactionFold.evolve(before, last)
  const { streamVersion: version, recordedAt } = last
  return viewOfFolded({ ...stream, version, recordedAt, before, after }, required)
}

/** The newest block that the event names. */
function headAt(event: TransactionEvent, before: number | null): number | null {
  switch (event.type) {
    case 'TransactionMined':
      return event.data.blockNumber
    case 'TransactionConfirmed':
    case 'TransactionReverted':
      return event.data.blockNumber + event.data.confirmations - 1
    case 'TransactionCancelled': {
      const { blockNumber, confirmations } = event.data
      return blockNumber === undefined || confirmations === undefined ? before : blockNumber + confirmations - 1
    }
    default:
      return before
  }
}
