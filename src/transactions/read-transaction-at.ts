/** Reads a transaction as it was at a time that has passed: its stream, folded up to then. */
import { NotFound } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import type { Environment } from '../core/networks.ts'
import { readPastTime } from '../core/past-time.ts'
import type { EventLog } from '../event-log/log.ts'
import type { TransactionEvent } from './events.ts'
import { transactionAggregate } from './projection.ts'
import type { TransactionReads } from './read-transactions.ts'
import type { TransactionState } from './state.ts'
import { type TransactionRow, type TransactionView, toView } from './view.ts'

/**
 * Confirmations are those that had been recorded: one of a transaction that was in a block, and as many as settled it once it was
 * settled.
 *
 * @param at ISO 8601
 * @throws what `TransactionReads.read` does; ValidationFailed `invalid_time`, `time_in_future`; NotFound
 *   `transaction_not_requested_yet` at a time before it was asked for
 */
export type ReadTransactionAt = (
  owner: { readonly tenantId: string; readonly environment: Environment },
  walletId: string,
  transactionId: string,
  at: string,
) => Promise<TransactionView>

export function createReadTransactionAt(ports: {
  readonly log: Pick<EventLog, 'readStream'>
  readonly reads: Pick<TransactionReads, 'read'>
  readonly clock: Clock
}): ReadTransactionAt {
  const { log, reads, clock } = ports
  return async (owner, walletId, transactionId, at) => {
    const until = readPastTime(at, clock()).toISOString()
    // Whose it is never changes.
    const { required_confirmations: required } = await reads.read(owner, walletId, transactionId)
    const { category, evolve, initialState, project } = transactionAggregate
    let before: TransactionState = initialState
    let row: TransactionRow | undefined
    let head: number | null = null
    for (const event of await log.readStream<TransactionEvent>(
      { category, schemas: transactionAggregate.schemas },
      transactionId,
    )) {
      const { recordedAt, streamVersion: version } = event
      if (recordedAt > until) break
      const after = evolve(before, event)
      const context = { id: transactionId, tenantId: owner.tenantId, version, recordedAt }
      row = project(before, after, context).rows[0]?.row as TransactionRow | undefined
      head = headAt(event, head)
      before = after
    }
    if (row === undefined) {
      throw new NotFound(
        'transaction',
        'transaction_not_requested_yet',
        `The transaction had not been asked for by ${at}.`,
      )
    }
    return toView(row, { head, required })
  }
}

/** The newest block that the event knows of. */
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
