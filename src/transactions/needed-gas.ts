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

/**
 * Of bytes that are to be sent: those that a fork has left with too little gas. They are not sent until the lane has replaced
 * them. Looks only at bytes from before the fork, so that it costs nothing at other times. Never throws.
 */
export type LackGas = (transactions: readonly KnownTransaction[]) => Promise<readonly boolean[]>

export function createLackGas({ forks }: Pick<NeededGasChain, 'forks'>, neededGas: NeededGas): LackGas {
  return async (transactions) => {
    const { since } = await forks.status()
    return Promise.all(
      transactions.map(async (transaction) => {
        const signedAt = newestAttempt(transaction)?.signedAt
        const isOld = since !== null && signedAt !== undefined && signedAt < since
        return isOld && (await neededGas(transaction)) !== null
      }),
    )
  }
}
