/** The response to a request that became a transaction: with its hash, if it is signed soon enough. */
import type { TransactionReads } from './read-transactions.ts'
import { type TransactionView, toAccepted } from './view.ts'

export type AnswerPorts = {
  readonly reads: TransactionReads
  /** Default time that a response waits for the hash, ms. */
  readonly signWaitMs: number
}

/** @param waitMs what the request asked for; `null` for the default */
export async function answerAccepted(
  { reads, signWaitMs }: AnswerPorts,
  tenantId: string,
  view: TransactionView,
  waitMs: number | null,
) {
  const { transaction_id: id } = view
  const limitMs = waitMs ?? signWaitMs
  const waits = view.state === 'requested' && limitMs > 0
  const signed = waits && (await reads.untilSigned(id, limitMs)) !== null
  return { code: 202 as const, view: toAccepted(signed ? await reads.readById(tenantId, id) : view) }
}
