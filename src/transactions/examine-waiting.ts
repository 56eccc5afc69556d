/**
 * Judges the waiting transactions of a lane, each alone: which can be signed now, which must fail and why, and which no
 * node can simulate now. Those that must keep waiting are in none of these lists.
 */
import type { FeeQuote } from '../chain/fees.ts'
import { type GasRules, MAX_EXECUTION_GAS } from '../chain/forks.ts'
import { largest, smallest } from '../core/money.ts'
import type { Loaded } from '../event-log/aggregate.ts'
import { buildCall, type Call } from './build-call.ts'
import type { Sound } from './check-recorded.ts'
import type { TransactionCommand } from './decider.ts'
import type { DependencyOutcome } from './dependency.ts'
import { type EstimateGas, GAS_MARGIN_PERCENT, type GasEstimate, type GasRequest } from './estimate-gas.ts'
import type { FailureCode } from './events.ts'
import { needsMoreGas, quoteAt, raisedByFork } from './gas-budget.ts'
import type { Unsimulated } from './held-lanes.ts'
import type { Fees, GasPriority, Intent, Quote } from './intent.ts'
import type { RulesOfKinds } from './kind-rules.ts'
import { isTokenTransfer, REFUSED_BY_TOKEN, type RefusedByToken } from './refused-by-token.ts'
import { mostFirstFee, mostSignable, runsForeignCode, type SigningRules } from './spend-bounds.ts'
import type { TransactionState } from './state.ts'

export type Waiting = Sound & { readonly dependency: DependencyOutcome | null }
type Candidate = Waiting & { readonly call: Call }
/** `raised`: why it needs more gas than it holds, if a fork is the cause. */
export type Ready = Candidate & { readonly fees: Fees; readonly quote: Quote; readonly raised: string | null }
export type Refused = { readonly loaded: Loaded<TransactionState>; readonly command: TransactionCommand }
export type Unjudged = Unsimulated & { readonly loaded: Loaded<TransactionState> }

export type Examined = {
  readonly ready: readonly Ready[]
  readonly refused: readonly Refused[]
  readonly unjudged: readonly Unjudged[]
}

/** The chain functions used for judging. */
export type ExaminingChain = {
  readonly gasRules: () => Promise<GasRules>
  /** When its fork began, ISO 8601, if its nodes say so. */
  readonly forkSince: () => Promise<string | null>
  readonly estimateGas: EstimateGas
  readonly refusedByToken: RefusedByToken
  readonly kinds: RulesOfKinds
  /** The newest block at which a balance of the address was read. */
  readonly observedBlock: (address: string) => Promise<number>
}

/**
 * @param quote `null` while gas costs more than the cap: nothing is signed then, and expired requests fail
 * @param now ISO 8601
 * @throws Unavailable when no node answers at all
 */
export async function examineWaiting(
  waiting: readonly Waiting[],
  chain: ExaminingChain,
  quote: FeeQuote | null,
  now: string,
): Promise<Examined> {
  const ready: Ready[] = []
  const refused: Refused[] = []
  const unjudged: Unjudged[] = []
  const candidates: Candidate[] = []
  for (const item of waiting) {
    const { loaded, transaction, dependency } = item
    if (dependency?.outcome === 'failed') refused.push(fail(loaded, 'dependency_failed', dependency.message, now))
    else if (dependency === null || dependency.outcome === 'succeeded') {
      const late = expiredOf(item, quote, now)
      if (late !== null) refused.push(late)
      else if (quote !== null) candidates.push({ ...item, call: buildCall(transaction.intent) })
    }
  }
  if (quote === null) return { ready, refused, unjudged }
  const [rules, since] = await Promise.all([chain.gasRules(), chain.forkSince()])
  const requests = candidates.map((candidate) => toGasRequest(candidate, { rules, since }, chain.kinds))
  const estimates = await chain.estimateGas(requests)
  const unmoved = await refusedTransfers(chain, candidates, requests, estimates)
  for (const [index, candidate] of candidates.entries()) {
    const estimate = estimates[index]
    if (estimate === undefined) throw new Error('fewer gas estimates than calls')
    const { loaded } = candidate
    if (unmoved.has(candidate)) refused.push(fail(loaded, 'token_transfer_refused', REFUSED_BY_TOKEN, now))
    else if (!estimate.ok && estimate.code === 'could_not_simulate')
      unjudged.push({ loaded, reason: estimate.reason, cause: estimate.cause ?? 'refused' })
    else {
      const judged = judge(candidate, estimate, { rules, since, quote, now })
      if ('fees' in judged) ready.push(judged)
      else refused.push(judged)
    }
  }
  return { ready, refused, unjudged }
}

/** It was too late to sign it. */
export function expired({ loaded, transaction }: Sound, now: string): Refused {
  const message = `The transaction expired at ${transaction.intent.validUntil} before it could be sent.`
  return fail(loaded, 'expired', message, now)
}

function expiredOf(item: Waiting, quote: FeeQuote | null, now: string): Refused | null {
  const { validUntil } = item.transaction.intent
  if (validUntil === null || validUntil > now) return null
  const dear = `The transaction expired at ${validUntil}: gas cost more than the configured cap. Send it again when fees fall.`
  return quote === null ? fail(item.loaded, 'fee_cap_exceeded', dear, now) : expired(item, now)
}

/**
 * Transfers that the token executed in their simulation are not among them. As with any refusal, a replica that has not
 * seen the balance is ignored.
 */
async function refusedTransfers(
  { refusedByToken, observedBlock }: ExaminingChain,
  candidates: readonly Candidate[],
  requests: readonly GasRequest[],
  estimates: readonly GasEstimate[],
): Promise<ReadonlySet<Candidate>> {
  const transfers = candidates.flatMap((candidate, index) => {
    const [estimate, request] = [estimates[index], requests[index]]
    const isOpen = isTokenTransfer(candidate.transaction.intent) && !(estimate?.ok && estimate.isExecuted)
    return isOpen && request !== undefined ? [{ candidate, request }] : []
  })
  const [first] = transfers
  if (first === undefined) return new Set()
  const observed = await observedBlock(first.request.from)
  const refused = await refusedByToken(
    transfers.map(({ request }) => ({ ...request, sinceBlock: Math.max(observed, request.sinceBlock ?? 0) })),
  )
  return new Set(transfers.flatMap(({ candidate }, index) => (refused[index] ? [candidate] : [])))
}

function toGasRequest(
  { transaction, call, dependency }: Candidate,
  rules: SigningRules,
  kinds: RulesOfKinds,
): GasRequest {
  const { intent } = transaction
  const since = dependency?.outcome === 'succeeded' ? { sinceBlock: dependency.blockNumber } : {}
  const errors = intent.call === undefined ? {} : { errors: intent.call.errors }
  const { promise, asksReverter } = kinds.get(transaction.type) ?? {}
  const check = promise?.(intent, call) ?? null
  const simulation = { from: intent.from, call, mostGas: mostSignable(intent, rules), ...leastGas(intent) }
  return { ...simulation, ...since, ...errors, ...(check && { promise: check }), ...(asksReverter && { asksReverter }) }
}

/**
 * Not for calls of clients and swaps: the code that they run may be of any length; nor for more than 2^24, as whether the
 * chain takes so much must be known.
 */
function leastGas(intent: Intent): Pick<GasRequest, 'leastGas' | 'isTokenTransfer'> {
  if (isTokenTransfer(intent)) return { isTokenTransfer: true }
  const { data, reserved } = intent
  const isOpenEnded = runsForeignCode(intent) || reserved.gasLimit > MAX_EXECUTION_GAS
  return data === null || isOpenEnded ? {} : { leastGas: reserved.gasLimit }
}

function fail(loaded: Loaded<TransactionState>, code: FailureCode, message: string, now: string): Refused {
  return { loaded, command: { type: 'FailUnsigned', code, message, now } }
}

function refusal(
  loaded: Loaded<TransactionState>,
  { code, reason, revertedBy }: Extract<Judgeable, { readonly ok: false }>,
  now: string,
): Refused {
  const by = revertedBy === undefined ? {} : { revertedBy }
  return { loaded, command: { type: 'FailUnsigned', code, message: reason, ...by, now } }
}

type Judgeable = Exclude<GasEstimate, { readonly code: 'could_not_simulate' }>

function judge(
  candidate: Candidate,
  estimate: Judgeable,
  { rules, since, quote, now }: SigningRules & { readonly quote: FeeQuote; readonly now: string },
): Ready | Refused {
  const { loaded, transaction } = candidate
  const { intent } = transaction
  const { gasPriority, reserved } = intent
  if (!estimate.ok) return refusal(loaded, estimate, now)
  const gasLimit = gasLimitOf(intent, estimate.gasLimit, mostSignable(intent, { rules, since }))
  if (gasLimit === null)
    return fail(loaded, 'fee_cap_exceeded', `${needsMoreGas(intent, estimate, since)}: send it again.`, now)
  const fees = chooseFees(quote, gasPriority, reserved, gasLimit)
  return {
    ...candidate,
    fees,
    quote: quoteAt(quote, gasPriority),
    raised: raisedByFork(intent, { ...estimate, gasLimit }, since),
  }
}

/**
 * A call gets at least its reserved gas: the simulated state may need less gas than the actual one, after the
 * transactions signed before it. Unused gas costs nothing. Nodes before Amsterdam refuse more than 2^24 for ever, and more may
 * have been reserved while the fork was unknown: beyond that only what the estimate needs.
 *
 * @param most the limit, which no transaction of this request may exceed
 * @returns `null` when it needs more
 */
export function gasLimitOf(intent: Pick<Intent, 'data' | 'reserved'>, estimated: bigint, most: bigint): bigint | null {
  const accepted = smallest(most, largest(estimated, MAX_EXECUTION_GAS))
  const least = intent.data === null ? 0n : smallest(intent.reserved.gasLimit, accepted)
  if (estimated <= most) return estimated > least ? estimated : least
  return (estimated * 100n) / GAS_MARGIN_PERCENT <= most ? most : null
}

/**
 * The current tip, with the fee cap reserved when the request was accepted, if that leaves room for one rise of the
 * base fee (EIP-1559: 12.5 % per block); so the hold is the limit of spending. If fees rose further than the first
 * bytes may follow, replacements follow step by step.
 */
export function chooseFees(
  quote: FeeQuote,
  priority: GasPriority,
  reserved: Pick<Intent['reserved'], 'maxFeePerGas'>,
  gasLimit: bigint,
): Fees {
  const fresh = quote[priority]
  const cap = reserved.maxFeePerGas
  const enough = (quote.baseFeePerGas * 9n) / 8n + fresh.maxPriorityFeePerGas
  const maxFeePerGas = cap >= enough ? cap : smallest(fresh.maxFeePerGas, mostFirstFee({ reserved }))
  return { gasLimit, maxFeePerGas, maxPriorityFeePerGas: smallest(fresh.maxPriorityFeePerGas, maxFeePerGas) }
}
