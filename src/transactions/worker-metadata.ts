/** The metadata of a worker's events of a transaction: tenant, worker and cause. */
import type { Metadata } from '../core/messages.ts'
import type { TransactionState } from './state.ts'

/** @param cause the lane or block that triggered the worker */
export function workerMetadata(transaction: TransactionState, worker: string, cause: string): Metadata {
  if (transaction.state === 'unknown') throw new Error('the transaction has no request metadata')
  return { tenantId: transaction.intent.tenantId, actor: `worker:${worker}`, causationId: cause }
}
