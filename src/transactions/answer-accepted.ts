/** The response to a request that became transactions: with their hashes, if they are signed soon enough. */
import type { SendContext } from './send-context.ts'
import { type TransactionView, toAccepted, toAcceptedBatch } from './view.ts'

export type AnswerContext = Pick<SendContext, 'transactions'> & {
  /** `signWaitMs`: default time that a response waits for the hash, ms. */
  readonly config: Pick<SendContext['config'], 'signWaitMs'>
}

/** @param waitMs what the request asked for; `null` for the default. @param over ends the wait */
export async function answerAccepted(
  { transactions, config }: AnswerContext,
  tenantId: string,
  { id, made }: { readonly id: string; readonly made: TransactionView | null },
  waitMs: number | null,
  over: AbortSignal,
) {
  const view = made ?? (await transactions.readById(tenantId, id))
  const limitMs = waitMs ?? config.signWaitMs
  const waits = view.state === 'requested' && limitMs > 0
  const signed = waits ? await transactions.untilSigned(id, limitMs, over) : null
  return { code: 202 as const, view: toAccepted(signed ?? view) }
}

/** The same for a batch: one wait for all, and the hashes that are known after it. */
export async function answerBatch(
  { transactions, config }: AnswerContext,
  tenantId: string,
  { id, made }: { readonly id: string; readonly made: readonly TransactionView[] | null },
  waitMs: number | null,
  over: AbortSignal,
) {
  const views = made ?? (await transactions.readBatch(tenantId, id))
  const limitMs = waitMs ?? config.signWaitMs
  const newest = await Promise.all(
    views.map(async (view) => {
      const waits = view.state === 'requested' && limitMs > 0
      return (waits && (await transactions.untilSigned(view.transaction_id, limitMs, over))) || view
    }),
  )
  return { code: 202 as const, view: toAcceptedBatch(id, newest) }
}
