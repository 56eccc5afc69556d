/**
 * What bytes that are signed and in no block need now: a fork may have come since they were signed, and bytes with too little
 * gas would be mined, fail, and cost their fee. And what requests that are not signed need since a fork: the append that
 * records a signature raises their hold. What the wallet cannot pay at the price of a block fails unsigned, because its bytes
 * would block their nonce.
 */
import type { ForkWatch } from '../chain/fork-watch.ts'
import { rulesOf } from '../chain/forks.ts'
import { formatAmount } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import { buildCall, type Call } from './build-call.ts'
import { type EstimateGas, GAS_MARGIN_PERCENT } from './estimate-gas.ts'
import type { Fees, Intent, Quote } from './events.ts'
import { createGasBudget, withinBudget } from './gas-budget.ts'
import { isBeforeFork, mostSignable } from './spend-bounds.ts'
import { type KnownTransaction, newestAttempt } from './state.ts'

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
 */
export type LackGas = (transactions: readonly KnownTransaction[]) => Promise<readonly boolean[]>

/** @param now the time of day, ms */
export function createLackGas(
  { forks, now }: Pick<NeededGasChain, 'forks'> & { readonly now: () => number },
  neededGas: NeededGas,
): LackGas {
  const lacks = async (transaction: KnownTransaction): Promise<boolean> => {
    const signedAt = newestAttempt(transaction)?.signedAt
    if (signedAt === undefined || now() - Date.parse(signedAt) < FRESH_MS) return false
    const { since } = await forks.status()
    return since !== null && signedAt < since && (await neededGas(transaction)) !== null
  }
  return (transactions) => Promise.all(transactions.map(lacks))
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
