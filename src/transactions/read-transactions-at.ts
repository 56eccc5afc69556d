/** Reads transactions as of a past time, by folding their streams up to then. */
import { NotFound } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import { readPastTime } from '../core/past-time.ts'
import type { Owner } from '../core/tenants.ts'
import type { EventLog } from '../event-log/log.ts'
import { untilSettled } from '../event-log/settled.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionEvent } from './all-events.ts'
import { viewOfEvents } from './fold-view.ts'
import type { TransactionFilter, TransactionReads } from './read-transactions.ts'
import type { TransactionView } from './view.ts'

/** Maximum streams folded for a page filtered by status or state; the next page continues where it stopped. */
const MOST_FOLDED = 500

export type PageAt = {
  readonly views: readonly TransactionView[]
  /** The last transaction before the next page; null when there is none. */
  readonly goesOnAfter: string | null
}

type ReadContext = {
  readonly log: Pick<EventLog, 'readStream'>
  readonly transactions: Pick<TransactionReads, 'read' | 'list'>
  readonly clock: Clock
}

/**
 * Confirmations are those recorded by then: one for a mined transaction, and the required number for a settled one.
 *
 * @param at ISO 8601
 * @throws errors of `TransactionReads.read`; ValidationFailed `invalid_time`, `time_in_future`; NotFound
 *   `transaction_not_requested_yet` for a time before the request
 */
export async function readTransactionAt(
  ctx: ReadContext,
  owner: Owner,
  walletId: string,
  transactionId: string,
  at: string,
): Promise<TransactionView> {
  const until = readPastTime(at, ctx.clock())
  await untilSettled(until, ctx.clock)
  const view = await viewAt(ctx, owner.tenantId, await ctx.transactions.read(owner, walletId, transactionId), until)
  if (view !== null) return view
  const message = `The transaction had not been requested by ${at}.`
  throw new NotFound('transaction', 'transaction_not_requested_yet', message)
}

/**
 * Transactions requested by then that matched the filter, newest first. When filtered by status or state, a page may
 * have fewer than its limit although more follow (https://google.aip.dev/158).
 *
 * @param at ISO 8601
 * @throws ValidationFailed `invalid_time`, `time_in_future`
 */
export async function listTransactionsAt(
  ctx: ReadContext,
  tenantId: string,
  walletId: string,
  { status, state, limit, ...lasting }: TransactionFilter,
  at: string,
): Promise<PageAt> {
  const until = readPastTime(at, ctx.clock())
  await untilSettled(until, ctx.clock)
  const most = status === undefined && state === undefined ? limit : MOST_FOLDED
  const candidates = await ctx.transactions.list(tenantId, walletId, {
    ...lasting,
    requestedBy: until,
    limit: most + 1,
  })
  const views: TransactionView[] = []
  let folded = 0
  for (const candidate of candidates.slice(0, most)) {
    if (views.length === limit) break
    folded += 1
    const view = await viewAt(ctx, tenantId, candidate, until)
    if (view !== null && (status ?? view.status) === view.status && (state ?? view.state) === view.state)
      views.push(view)
  }
  const last = candidates[folded - 1]
  return { views, goesOnAfter: folded < candidates.length && last !== undefined ? last.transaction_id : null }
}

/** @param now the current view: its owner never changes. Null when nothing was recorded by then. */
async function viewAt(
  { log }: ReadContext,
  tenantId: string,
  now: TransactionView,
  until: Date,
): Promise<TransactionView | null> {
  const events = await log.readStream<TransactionEvent>(transactionAggregate, now.transaction_id)
  return viewOfEvents(
    events.filter(({ recordedAt }) => recordedAt <= until.toISOString()),
    { tenantId, id: now.transaction_id, required: now.required_confirmations },
  )
}
