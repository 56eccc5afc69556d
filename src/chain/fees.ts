/**
 * Gas fees (EIP-1559) from what recent blocks paid. Pure: history and policy are passed in, and no result exceeds the
 * hard cap of the policy. All fees are wei per gas.
 */
import { largest, smallest } from '../core/money.ts'
import { readQuantity } from './hex.ts'

export const FEE_PRIORITIES = ['low', 'medium', 'high'] as const
export type FeePriority = (typeof FEE_PRIORITIES)[number]

/** The percentile of recent tips that each priority pays. */
export const TIP_PERCENTILES: Readonly<Record<FeePriority, number>> = { low: 10, medium: 50, high: 90 }

/** Enough to smooth out one unusual block, few enough to follow a surge within minutes. */
export const HISTORY_BLOCKS = 20

export type Fees = { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }

export type FeeQuote = { readonly baseFeePerGas: bigint } & Readonly<Record<FeePriority, Fees>>

export type FeePolicy = {
  /** Nodes and block builders of the network ignore lower tips. */
  readonly minTipWei: bigint
  /** The most that is offered as a tip, whatever nodes say that others paid. */
  readonly maxTipWei: bigint
  /** The hard cap of the fee offered, whatever the network asks. */
  readonly maxFeePerGasWei: bigint
}

export type FeeHistory = {
  /** Of the next block. */
  readonly baseFeePerGas: bigint
  /** For each recent block with transactions: the tips at the percentiles, ascending. */
  readonly tips: readonly (readonly bigint[])[]
}

export type FeeQuoteResult =
  | { readonly type: 'quoted'; readonly quote: FeeQuote }
  /** Even the lowest possible fee is above the cap: wait, or raise the cap. */
  | { readonly type: 'fee_cap_exceeded'; readonly neededWei: bigint; readonly capWei: bigint }

/** What the tag of a transaction may change a fee by: its lowest 16 bits, in both fees. */
export const TAG_ROOM_WEI = 2n ** 17n

/**
 * Offers twice the base fee, which covers six consecutive full blocks that each raise it by an eighth.
 *
 * @returns `fee_cap_exceeded` when base fee and minimum tip together are above the cap
 */
export function quoteFees(history: FeeHistory, policy: FeePolicy): FeeQuoteResult {
  const { baseFeePerGas } = history
  const neededWei = baseFeePerGas + policy.minTipWei
  if (neededWei > policy.maxFeePerGasWei) {
    return { type: 'fee_cap_exceeded', neededWei, capWei: policy.maxFeePerGasWei }
  }
  let floor = policy.minTipWei
  const level = (priority: FeePriority): Fees => {
    const column = FEE_PRIORITIES.indexOf(priority)
    const paid = median(history.tips.map((row) => row[column] ?? 0n))
    const tip = largest(floor, smallest(paid, policy.maxTipWei))
    // A higher priority never offers less than a lower one.
    floor = tip
    const maxPriorityFeePerGas = smallest(tip, policy.maxFeePerGasWei - baseFeePerGas)
    return {
      maxFeePerGas: smallest(2n * baseFeePerGas + maxPriorityFeePerGas + TAG_ROOM_WEI, policy.maxFeePerGasWei),
      maxPriorityFeePerGas,
    }
  }
  const low = level('low')
  const medium = level('medium')
  return { type: 'quoted', quote: { baseFeePerGas, low, medium, high: level('high') } }
}

/**
 * Fees for a replacement with the same nonce. Nodes require 10 % more in both fields; 12.5 % satisfies all of them.
 *
 * @param previous the fees of the transaction to be replaced
 * @param quote the current quote for the requested priority
 * @param capWei the hard cap
 * @returns `null` when the cap forbids a replacement
 */
export function bumpFees(previous: Fees, quote: Fees, capWei: bigint): Fees | null {
  const maxPriorityFeePerGas = largest(raised(previous.maxPriorityFeePerGas), quote.maxPriorityFeePerGas)
  const needed = largest(raised(previous.maxFeePerGas), quote.maxFeePerGas)
  const maxFeePerGas = largest(needed, maxPriorityFeePerGas)
  return maxFeePerGas > capWei ? null : { maxFeePerGas, maxPriorityFeePerGas }
}

/** The lowest fee cap of a replacement: both fees rise. */
export function leastBump(previous: Fees): bigint {
  return largest(raised(previous.maxFeePerGas), raised(previous.maxPriorityFeePerGas))
}

/** One eighth more, rounded up, at least 1 wei, so that a tip of zero rises too. */
function raised(fee: bigint): bigint {
  return largest((fee * 9n + 7n) / 8n, fee + 1n)
}

/**
 * Parses the result of eth_feeHistory.
 *
 * @throws Unavailable when it is malformed
 */
export function readFeeHistory(answer: unknown): FeeHistory {
  const { baseFeePerGas, gasUsedRatio, reward } = (answer ?? {}) as Record<string, unknown>
  const baseFees = Array.isArray(baseFeePerGas) ? baseFeePerGas : []
  const ratios: unknown[] = Array.isArray(gasUsedRatio) ? gasUsedRatio : []
  const rewards: unknown[] = Array.isArray(reward) ? reward : []
  const tips = rewards
    // An empty block reports tips of zero that nobody paid.
    .filter((row, i) => Array.isArray(row) && ratios[i] !== 0)
    .map((row) => (row as unknown[]).map((tip) => readQuantity(tip, 'a reward of eth_feeHistory')))
  return { baseFeePerGas: readQuantity(baseFees.at(-1), 'the base fee of eth_feeHistory'), tips }
}

function median(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return sorted[Math.floor(sorted.length / 2)] ?? 0n
}
