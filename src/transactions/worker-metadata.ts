/** What a worker writes beside the events of a transaction: whose it is, which worker wrote, and why. */
import type { Metadata } from '../core/messages.ts'
import type { TransactionState } from './state.ts'

/** @param cause the lane or the block that made the worker act */
export function workerMetadata(transaction: TransactionState, worker: string, cause: string): Metadata {
  if (transaction.state === 'unknown') throw new Error('a worker acts on transactions that were requested')
  return { tenantId: transaction.intent.tenantId, actor: `worker:${worker}`, causationId: cause }
}
