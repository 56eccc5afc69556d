/** What a swap exchanges: in the form of the API, in public events, and for operators. Pure. */
import { formatAmount } from '../core/money.ts'
import type { View } from '../http/view.ts'
import type { Failure, Inclusion, RecordedLogs } from '../transactions/events.ts'
import type { AssetRef, Intent } from '../transactions/intent.ts'
import { executedSwap, missingOf } from './executed-swap.ts'
import type { SwapIntent } from './part.ts'
import type { swapAtEventSchema, swapSchema } from './part-schemas.ts'
import { isGuessed } from './swap-failure.ts'

/** What the row of a transaction says about a swap. */
type SwapRow = {
  readonly from_address: string
  readonly to_address: string
  readonly asset_contract: string | null
  readonly asset_decimals: number
  readonly succeeded: boolean | null
  readonly logs: RecordedLogs | null
  readonly failure: Failure | null
}
export type SwapView = View<typeof swapSchema>

const BPS = 10_000n
export const FELL_SHORT = 'transaction.fell_short'

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

export function swapAtEvent(
  { failure_guessed: _, private: __, missing_to_amount: missing, ...swap }: SwapView,
  type: string,
): View<typeof swapAtEventSchema> {
  return type === FELL_SHORT ? { ...swap, missing_to_amount: missing } : swap
}

/** Of a swap that gave less than its minimum, or than its exact output. */
export function explainMined(
  { from, to, asset }: Intent,
  swap: SwapIntent,
  { succeeded, logs }: Inclusion,
): readonly (readonly [string, string])[] {
  const missing = succeeded ? missingOf(swap, executedSwap({ from, to, contract: asset.contract }, swap, logs)) : null
  if (missing === null) return []
  const { decimals, symbol } = swap.toAsset
  return [['fell short', `${formatAmount(missing, decimals)} ${symbol} less arrived than the swap had to give`]]
}

/** The quoted amounts, and the bound that the call data contains. */
export function explainAccepted(
  { asset }: Intent,
  { amountType, toAsset, fromAmount, toAmount, limit }: SwapIntent,
): string {
  const amount = ({ decimals, symbol }: AssetRef, units: string) => `${formatAmount(BigInt(units), decimals)} ${symbol}`
  const bound = amountType === 'exact_input' ? `at least ${amount(toAsset, limit)}` : `at most ${amount(asset, limit)}`
  return `${amount(asset, fromAmount)} for ${amount(toAsset, toAmount)}, ${bound}`
}

export function afterFailure(code: string, { approvalTransactionId }: SwapIntent) {
  switch (code) {
    case 'slippage_exceeded':
      return {
        text: 'The price moved. Request a new quote, with a larger slippage_bps if the difference is acceptable.',
        see: null,
      }
    case 'deadline_passed':
      return {
        text: 'Its block was too late. Request a new quote, with a larger deadline_seconds or gas priority.',
        see: null,
      }
    case 'allowance_missing':
      return {
        text: 'The router could not take the token. Check that no other program spends from the wallet, and that the token is not paused.',
        see: approvalTransactionId,
      }
    case 'expired':
      return {
        text: 'It was not signed in time. Request a new quote, and see the lane if this happens again.',
        see: null,
      }
    default:
      return null
  }
}
