/** What a swap exchanges, in the form of the API. Pure. */
import { formatAmount } from '../core/money.ts'
import type { View } from '../http/view.ts'
import type { Failure, RecordedLogs } from './events.ts'
import { executedSwap, missingOf } from './executed-swap.ts'
import type { SwapIntent } from './intent.ts'
import { isGuessed } from './swap-failure.ts'
import type { swapSchema } from './swap-schemas.ts'

/** What the row of a transaction says about a swap. */
export type SwapRow = {
  readonly from_address: string
  readonly to_address: string
  readonly asset_contract: string | null
  readonly asset_decimals: number
  readonly succeeded: boolean | null
  readonly logs: RecordedLogs | null
  readonly failure: Failure | null
}
type SwapView = View<typeof swapSchema>

const BPS = 10_000n

export function toSwapView(row: SwapRow, swap: SwapIntent): SwapView {
  const { amountType, toAsset, fromAmount, toAmount, limit } = swap
  const from = (units: bigint) => formatAmount(units, row.asset_decimals)
  const to = (units: bigint) => formatAmount(units, toAsset.decimals)
  const isInput = amountType === 'exact_input'
  const executed = executedSwap(
    { from: row.from_address, to: row.to_address, contract: row.asset_contract },
    swap,
    row.succeeded === true ? row.logs : null,
  )
  const missing = missingOf(swap, executed)
  return {
    to_asset: toAsset.symbol,
    to_asset_id: toAsset.assetId,
    amount_type: amountType,
    quoted_from_amount: from(BigInt(fromAmount)),
    quoted_to_amount: to(BigInt(toAmount)),
    min_to_amount: isInput ? to(BigInt(limit)) : null,
    max_from_amount: isInput ? null : from(BigInt(limit)),
    approval_transaction_id: swap.approvalTransactionId,
    failure_guessed: row.failure !== null && isGuessed(row.failure, { amountType, router: row.to_address }),
    private: swap.relays !== undefined,
    executed_from_amount: executed.fromAmount === null ? null : from(executed.fromAmount),
    executed_to_amount: executed.toAmount === null ? null : to(executed.toAmount),
    missing_to_amount: missing === null ? null : to(missing),
    price_difference_bps: priceDifferenceBps(swap, executed.fromAmount, executed.toAmount),
  }
}

/** The executed price against the quoted one, rounded down: negative when the caller received less for the same. */
function priceDifferenceBps(swap: SwapIntent, paid: bigint | null, received: bigint | null): number | null {
  if (paid === null || received === null) return null
  const quoted = BigInt(swap.toAmount) * paid
  const difference = received * BigInt(swap.fromAmount) - quoted
  const bps = (difference * BPS) / quoted
  return Number(difference < 0n && bps * quoted !== difference * BPS ? bps - 1n : bps)
}
