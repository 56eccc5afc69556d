/**
 * What gas costs, what a wallet can pay for it, and how much of it a transaction needs.
 *
 * The budget of a wallet is what it has beyond the holds of its other transactions. Every node refuses bytes that cost more
 * until the wallet is funded or has sent everything else, so they are not signed.
 *
 * Invariant: what a lane signs costs no more than its wallet has when it is recorded. Requests may be accepted, and other
 * holds grow, between the reading of what is spare and the append, which then refuses the bytes: they are signed again for
 * less (`withinFunds`).
 *
 * Bytes that are signed and in no block may need more gas since a fork: with too little they would be mined, fail, and cost
 * their fee. So may requests that are not signed: the append that records a signature raises their hold. What the wallet
 * cannot pay at the price of a block fails unsigned, because its bytes would block their nonce.
 */
import type { FeeQuote } from '../chain/fees.ts'
import type { ForkWatch } from '../chain/fork-watch.ts'
import { rulesOf } from '../chain/forks.ts'
import { Unavailable } from '../core/errors.ts'
import { formatAmount, largest, smallest } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import { HoldRefused } from '../event-log/append.ts'
import { amountFreed, heldFee } from './aggregate.ts'
import { buildCall, type Call } from './build-call.ts'
import { type EstimateGas, GAS_MARGIN_PERCENT } from './estimate-gas.ts'
import type { Fees, GasPriority, Intent, Quote } from './intent.ts'
import { isBeforeFork, mostSignable } from './spend-bounds.ts'
import { type KnownTransaction, newestAttempt } from './state.ts'

/**
 * What a transaction records of it, to show later what its fees were based on. Pure.
 *
 * @param priority the chosen one; only its part of the quote is kept
 */
export function quoteAt(quote: FeeQuote, priority: GasPriority): Quote {
  return { baseFeePerGas: quote.baseFeePerGas, ...quote[priority] }
}

/**
 * The current fees, unless gas costs more than the hard cap: then nothing is signed, and waiting requests may still
 * expire.
 *
 * @returns `null` above the cap
 * @throws Unavailable when no node returns the fees
 */
export async function quoteUnderCap(quote: () => Promise<FeeQuote>): Promise<FeeQuote | null> {
  return quote().catch((error) => {
    if (error instanceof Unavailable && error.code === 'fee_cap_exceeded') return null
    throw error
  })
}

type Paying = Pick<Call, 'value'>

export type GasBudget = {
  /**
   * The maximum gas cost of this call, wei, including the hold of its own transaction.
   */
  readonly feeLimit: (transaction: KnownTransaction, call: Paying) => bigint
  /** Deducts the cost of this call at these fees beyond the hold: less remains for the next transaction. */
  readonly take: (transaction: KnownTransaction, call: Paying, fees: Pick<Fees, 'gasLimit' | 'maxFeePerGas'>) => void
}

/** @param spare the balance minus all holds, wei; negative when the balance has fallen since */
export function createGasBudget(spare: bigint): GasBudget {
  // Where the balance has fallen, a call may still cost what its own transaction holds: no other one loses by it.
  let left = largest(spare, 0n)
  /** What this call can pay for gas from the hold of its own transaction. */
  const held = (transaction: KnownTransaction, { value }: Paying) =>
    heldFee(transaction) + amountFreed(transaction.intent) - value
  return {
    feeLimit: (transaction, call) => left + held(transaction, call),
    take(transaction, call, { gasLimit, maxFeePerGas }) {
      const more = gasLimit * maxFeePerGas - held(transaction, call)
      if (more > 0n) left -= more
    },
  }
}

/**
 * Limits the fees of the first bytes to the budget: at least what was reserved, which may have to wait for a lower base
 * fee, and more only if the wallet can pay it.
 *
 * @param mark adds the tag, which may raise fees of a few thousand wei
 * @returns `null` when the wallet cannot pay for the tag
 */
export function withinBudget<Item extends { transaction: KnownTransaction; call: Call; fees: Fees }>(
  budget: GasBudget,
  item: Item,
  mark: (fees: Fees) => Fees,
): Item | null {
  const { transaction, call, fees } = item
  const limit = largest(budget.feeLimit(transaction, call), heldFee(transaction))
  const most = limit / fees.gasLimit
  const within = mark({
    ...fees,
    maxFeePerGas: smallest(fees.maxFeePerGas, most),
    maxPriorityFeePerGas: smallest(fees.maxPriorityFeePerGas, most),
  })
  if (within.gasLimit * within.maxFeePerGas > limit) return null
  budget.take(transaction, call, within)
  return { ...item, fees: within }
}

/**
 * Tries with what is spare, then with what is left of it, and at last with nothing but the transactions' own holds, which no
 * append refuses.
 *
 * @param spare as read before, wei
 * @param read reads it again
 * @param attempt signs for no more than these funds beside the holds, wei, and appends
 */
export async function withinFunds<Result>(
  spare: bigint,
  read: () => Promise<bigint>,
  attempt: (funds: bigint) => Promise<Result>,
): Promise<Result> {
  for (const funds of [async () => spare, read]) {
    try {
      return await attempt(await funds())
    } catch (error) {
      if (!(error instanceof HoldRefused)) throw error
    }
  }
  return attempt(0n)
}

export type NeededGasChain = {
  readonly forks: Pick<ForkWatch, 'fork' | 'status'>
  readonly estimateGas: EstimateGas
}

/** @returns the gas limit that they should have, or `null` if theirs is enough, or nobody knows. Never throws. */
export type NeededGas = (transaction: KnownTransaction) => Promise<bigint | null>

export function createNeededGas({ forks, estimateGas }: NeededGasChain): NeededGas {
  return async (transaction) => {
    const newest = newestAttempt(transaction)
    const [fork, { since }] = await Promise.all([forks.fork(), forks.status()])
    const rules = rulesOf(fork)
    // Up to Osaka no fork has made a call dearer; what an unknown one does is a guess.
    if (fork === 'unknown' || rules.newAccount === 0n) return null
    if (newest === null || newest.purpose === 'cancel') return null
    const { intent } = transaction
    const call = buildCall(intent)
    const mostGas = mostSignable(intent, { rules, since })
    const [estimate] = await estimateGas([{ from: intent.from, call, mostGas }]).catch(() => [])
    if (!estimate?.ok || estimate.gasLimit > mostGas) return null
    // Without the margin of the estimate, which is no reason for other bytes.
    return (estimate.gasLimit * 100n) / GAS_MARGIN_PERCENT > newest.fees.gasLimit ? estimate.gasLimit : null
  }
}

/** Who signed so shortly before knew the fork. */
const FRESH_MS = 20_000

/**
 * Of bytes that are to be sent: those that a fork has left with too little gas. They are not sent until the lane has replaced
 * them. Looks only at bytes from before the fork, and asks nobody about fresh ones, so that it costs nothing at other times.
 * Never throws.
 *
 * @param chain.now the time of day, ms
 */
export function lackGas(
  {
    forks,
    now,
    neededGas,
  }: Pick<NeededGasChain, 'forks'> & { readonly now: () => number; readonly neededGas: NeededGas },
  transactions: readonly KnownTransaction[],
): Promise<readonly boolean[]> {
  const lacks = async (transaction: KnownTransaction): Promise<boolean> => {
    const signedAt = newestAttempt(transaction)?.signedAt
    if (signedAt === undefined || now() - Date.parse(signedAt) < FRESH_MS) return false
    const { since } = await forks.status()
    return since !== null && signedAt < since && (await neededGas(transaction)) !== null
  }
  return Promise.all(transactions.map(lacks))
}

/** What it needs, and why that is more than its hold. */
export type GasCause = { readonly gasLimit: bigint; readonly newAccount?: bigint }

export function needsMoreGas(
  intent: Pick<Intent, 'reserved' | 'requestedAt'>,
  { gasLimit, newAccount = 0n }: GasCause,
  since: string | null,
): string {
  const { reserved } = intent
  const fork = isBeforeFork(intent, since) ? `A fork of the chain came at ${since}, after the request. ` : ''
  const cause = newAccount > 0n ? ` of which ${newAccount} create the account of the recipient, which is new,` : ''
  return `${fork}The transaction now needs ${gasLimit} gas,${cause} but its hold covers only ${reserved.gasLimit}`
}

/** @returns why it needs more gas than it holds, if a fork is the cause, or `null` */
export function raisedByFork(intent: Intent, needed: GasCause, since: string | null): string | null {
  const { reserved } = intent
  const createsMore = (needed.newAccount ?? 0n) > (reserved.newAccountGas ?? 0n)
  if (needed.gasLimit <= reserved.gasLimit || !(createsMore || isBeforeFork(intent, since))) return null
  return needsMoreGas(intent, needed, since)
}

type Priced = {
  readonly transaction: KnownTransaction
  readonly call: Call
  readonly fees: Fees
  readonly quote: Quote
  /** Why it needs more gas than it holds, if a fork is the cause. */
  readonly raised: string | null
}

export type Unpayable<Item> = { readonly item: Item; readonly message: string }

/** @param spare what the wallet has beyond all holds, wei */
export function apartUnpayable<Item extends Priced>(
  ready: readonly Item[],
  spare: bigint,
): { readonly payable: readonly Item[]; readonly unpayable: readonly Unpayable<Item>[] } {
  const budget = createGasBudget(spare)
  const payable: Item[] = []
  const unpayable: Unpayable<Item>[] = []
  for (const item of ready) {
    const { raised, transaction, call, fees, quote } = item
    const limit = budget.feeLimit(transaction, call)
    if (raised !== null && fees.gasLimit * quote.baseFeePerGas > limit) {
      const { network } = transaction.intent
      const missing = formatAmount(fees.gasLimit * fees.maxFeePerGas - limit, NATIVE_DECIMALS)
      const message = `${raised}, and the wallet lacks ${missing} ${NATIVE_SYMBOL[network]} for it: fund the wallet, and send it again.`
      unpayable.push({ item, message })
    } else {
      payable.push(item)
      withinBudget(budget, item, (same) => same)
    }
  }
  return { payable, unpayable }
}
