/**
 * What bytes that are signed and in no block need now: a fork may have come since they were signed, and bytes with too little
 * gas would be mined, fail, and cost their fee.
 */
import type { ForkWatch } from '../chain/fork-watch.ts'
import { rulesOf } from '../chain/forks.ts'
import { buildCall } from './build-call.ts'
import { type EstimateGas, GAS_MARGIN_PERCENT } from './estimate-gas.ts'
import { mostSignable } from './spend-bounds.ts'
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
