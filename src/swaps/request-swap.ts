/**
 * Accepts a swap: asks its route once more, then records it with its approvals in one append and holds what it may
 * spend. A refused request leaves no trace.
 *
 * Invariant: the call data with its minimum is final here, and is never made again. What is signed later exchanges at
 * least the minimum, before the deadline, or nothing.
 */
import type { RpcReader } from '../chain/json-rpc.ts'
import { relayHosts } from '../chain/relays.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { Context } from '../context.ts'
import { Conflict } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { formatAmount } from '../core/money.ts'
import type { Environment } from '../core/networks.ts'
import type { Accept, Accepted, AppendPrepared } from '../event-log/accept.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { UniqueRuleBroken } from '../event-log/append.ts'
import type { RoomContext } from '../transactions/limits.ts'
import { findPayer } from '../transactions/prepare-transaction.ts'
import type { AnswerContext } from '../transactions/read-transactions.ts'
import type { PrepareContext, Sender } from '../transactions/send-context.ts'
import { type TransactionView, viewOf } from '../transactions/view.ts'
import { swapAggregate } from './aggregate.ts'
import { type ConfirmedQuote, confirmQuote } from './confirm-quote.ts'
import { readGuardProblem } from './contracts/guard.ts'
import type { Swap } from './events.ts'
import { prepareSwapCalls, type SwapExtras } from './prepare-swap-calls.ts'
import type { SwapQuote } from './quote.ts'
import { readQuote } from './quote-rows.ts'
import type { QuoteSwap, SwapRequest } from './quote-swap.ts'
import { swapReverts } from './refusals.ts'
import { amountsOf, spenderOf, targetOf } from './route.ts'
import { readLastSwap } from './swap-rows.ts'
import { swapSpenders, swapTargets } from './swap-target.ts'

/** A stored quote, or the fields of one. */
export type SwapOrder = SwapExtras & {
  readonly walletId: string
  readonly quote: { readonly quoteId: string } | { readonly request: SwapRequest }
}

/** What swaps need of the API process, beside what every transaction needs. `swaps/create-quoting.ts` makes it once. */
export type SwapContext = PrepareContext &
  RoomContext &
  AnswerContext &
  Pick<Context, 'clock' | 'pool'> & {
    readonly accept: Accept
    readonly chainOf: (chainId: number) => {
      readonly foreign: RpcReader
      readonly settings: Pick<ChainSettings, 'swaps' | 'relayUrls'>
    }
    /** Counts its outcomes. */
    readonly quoteSwap: QuoteSwap
    /** Keeps a quote for the swap that uses it. */
    readonly keepQuote: (quote: SwapQuote) => Promise<void>
  }

/**
 * @throws the errors of a quote; NotFound `quote_not_found`, Conflict `quote_expired`, `quote_used`, `quote_moved`,
 *   `swap_in_progress` or `wallet_archived`, ValidationFailed `swap_reverts`, InsufficientFunds, IdempotencyKeyReused, Unavailable
 */
export function requestSwap(
  ctx: SwapContext,
  order: SwapOrder,
  metadata: Metadata,
  environment: Environment,
): Promise<Accepted<TransactionView>> {
  const owner = { tenantId: metadata.tenantId, environment }
  const attempt = async (append: AppendPrepared) => {
    const sender = await findPayer(ctx, owner, order.walletId)
    const quote = await quoteOf(ctx, order, owner)
    await requireConfigured(quote, ctx.chainOf(sender.chainId))
    const wallet = { wallet: sender.address, now: ctx.clock() }
    // Before the allowance is read: a swap that ends later uses the allowance, and then this one is refused here.
    const sequence = await nextSequence(ctx, sender, quote)
    const confirmed = await confirmQuote(ctx.chainOf(sender.chainId).foreign, quote, wallet)
    await requireUnmoved(ctx, quote, confirmed, owner)
    return record(ctx, { order, metadata, sender, quote, confirmed, sequence }, append)
  }
  // A quote is used and its key is found before anything is asked again.
  return ctx.accept(metadata, attempt, { replayFirst: true, isConflict: isOvertaken })
}

/** Another swap of the same allowance was recorded meanwhile: this one finds it, and is refused. */
function isOvertaken(error: unknown): boolean {
  return error instanceof UniqueRuleBroken && error.constraint === 'swaps_in_sequence'
}

type Owner = { readonly tenantId: string; readonly environment: Environment }

async function quoteOf(ctx: SwapContext, { walletId, quote }: SwapOrder, owner: Owner): Promise<SwapQuote> {
  if ('request' in quote) return ctx.quoteSwap(quote.request, owner)
  const stored = await readQuote(ctx.pool, owner.tenantId, walletId, quote.quoteId)
  if (Date.parse(stored.expiresAt) > ctx.clock()) return stored
  throw new Conflict('quote_expired', `The quote expired at ${stored.expiresAt}: request a new quote.`)
}

/** The settings, or the chain, may have changed since the quote. @throws Conflict `quote_expired`, Unavailable */
async function requireConfigured(
  { route }: SwapQuote,
  { foreign, settings: { swaps } }: ReturnType<SwapContext['chainOf']>,
): Promise<void> {
  const spender = spenderOf(route)
  const isConfigured = swapTargets(swaps).includes(targetOf(route))
  const isGuarded = route.type !== 'hosted' || (await readGuardProblem(foreign)) === null
  if (isConfigured && isGuarded && (spender === null || swapSpenders(swaps).includes(spender))) return
  throw new Conflict(
    'quote_expired',
    'The quote uses an exchange that is not configured any more: request a new quote.',
  )
}

/**
 * @throws Conflict `quote_moved` with fresh figures, as a quote that can be used; ValidationFailed `swap_reverts` if a
 *   fresh quote reverts too: another one would not help
 */
async function requireUnmoved(
  { quoteSwap, keepQuote }: SwapContext,
  quote: SwapQuote,
  { outcome }: ConfirmedQuote,
  owner: Owner,
): Promise<void> {
  if (outcome.type !== 'reverted') return
  const { fromAsset: from, toAsset: to, terms, route, walletId } = quote
  const isInput = terms.amountType === 'exact_input'
  const { amountIn, amountOut } = amountsOf(route)
  const amount = isInput ? formatAmount(amountIn, from.decimals) : formatAmount(amountOut, to.decimals)
  const request = { walletId, fromAsset: from.assetId, toAsset: to.assetId, amount, terms }
  const fresh = await quoteSwap(request, owner)
  // The append refuses a swap that the wallet cannot pay, and says what is missing.
  if (fresh.issues.balance !== null) return
  if (fresh.issues.simulation?.code === 'reverted') throw swapReverts(fresh, fresh.issues.simulation.reason)
  await keepQuote(fresh)
  const now = amountsOf(fresh.route)
  const message = `The swap would not give what was quoted any more: ${outcome.reason} Use the fresh quote in details, or request another one.`
  throw new Conflict('quote_moved', message, {
    quote_id: fresh.quoteId,
    from_amount: formatAmount(now.amountIn, from.decimals),
    to_amount: formatAmount(now.amountOut, to.decimals),
    [isInput ? 'min_to_amount' : 'max_from_amount']: formatAmount(now.limit, (isInput ? to : from).decimals),
    expires_at: fresh.expiresAt,
  })
}

type Accepting = {
  readonly order: SwapOrder
  readonly metadata: Metadata
  readonly sender: Sender
  readonly quote: SwapQuote
  readonly confirmed: ConfirmedQuote
  /** The place in the order of the allowance; `null` when none is needed. */
  readonly sequence: number | null
}

async function record(ctx: SwapContext, accepting: Accepting, append: AppendPrepared) {
  const { metadata, sender, quote, confirmed, sequence } = accepting
  const swapId = ctx.newId('swap')
  const { relayUrls } = ctx.chainOf(sender.chainId).settings
  const relays = relayUrls === undefined ? null : relayHosts(relayUrls)
  const { approvals, swap } = await prepareSwapCalls(ctx, { swapId, relays, ...accepting })
  const recorded: Swap = {
    tenantId: metadata.tenantId,
    walletId: sender.walletId,
    network: sender.network,
    environment: sender.environment,
    chainId: sender.chainId,
    quote: quotePart(quote),
    spender: confirmed.approval.spender,
    sequence,
    approvalIds: approvals.map(({ transactionId }) => transactionId),
    transactionId: swap.transactionId,
    deadline: confirmed.deadline,
    requestedAt: ctx.log.now(),
  }
  const command = { type: 'RecordSwap', swap: recorded } as const
  const opening = decideNew(swapAggregate, swapId, command, { metadata, now: recorded.requestedAt })
  const decisions = [...approvals.map(({ decision }) => decision), swap.decision, opening]
  const explain = (error: unknown) => explainUsed(swap.explain(error))
  return append({ id: swapId, commit: { decisions, guards: swap.guards }, explain, made: viewOf(swap.decision) })
}

/** @throws Conflict `swap_in_progress` */
async function nextSequence({ pool }: SwapContext, sender: Sender, quote: SwapQuote): Promise<number | null> {
  const spender = spenderOf(quote.route)
  const token = quote.fromAsset.contract
  if (spender === null || token === null) return null
  const last = await readLastSwap(pool, { walletId: sender.walletId, token, spender })
  if (last === null) return 1
  if (!last.isOpen) return last.sequence + 1
  const message = `The swap ${last.swapId} of this wallet also sells ${quote.fromAsset.symbol} and is not in a block yet: wait for it, so that none uses the allowance of the other.`
  throw new Conflict('swap_in_progress', message, { swap_id: last.swapId })
}

function explainUsed(error: unknown): unknown {
  return error instanceof UniqueRuleBroken && error.constraint === 'swaps_quote_once'
    ? new Conflict('quote_used', 'Another swap has used this quote: request a new quote.')
    : error
}

function quotePart(quote: SwapQuote): Swap['quote'] {
  const { quoteId, fromAsset, toAsset, terms, route, priceImpactBps, lpFeeBps, valueDifferenceBps, block, quotedAt } =
    quote
  return { quoteId, fromAsset, toAsset, terms, route, priceImpactBps, lpFeeBps, valueDifferenceBps, block, quotedAt }
}
