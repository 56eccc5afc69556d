/** Results of calls in the form of the API. */
import { type DecodedValue, decodeValues } from '../chain/abi-decode.ts'
import { formatAmount } from '../core/money.ts'
import type { View } from '../http/view.ts'
import type { BalanceChange } from './rehearse-call.ts'
import type { triedCallSchema } from './schemas.ts'

export type TriedCallView = View<typeof triedCallSchema>

/** Of a call that did not return. */
export const NOTHING_RETURNED = {
  return_values: null,
  return_data: null,
  decoding: 'none',
  gas_estimate: null,
} as const

/** @param outputs `null` for a function that is not known */
export function returnOf(outputs: Parameters<typeof decodeValues>[0] | null, data: string) {
  const values = outputs === null || outputs.length === 0 ? [] : decodeValues(outputs, data)
  return { return_values: values, return_data: data, decoding: decodingOf(outputs, values) }
}

function decodingOf(
  outputs: readonly unknown[] | null,
  values: readonly DecodedValue[] | null,
): TriedCallView['decoding'] {
  if (values === null) return 'too_large'
  if (outputs === null || outputs.length === 0) return 'none'
  return values.some(({ note }) => note !== undefined) ? 'incomplete' : 'complete'
}

export function toBalanceChange({ asset: { symbol, assetId, decimals }, change }: BalanceChange) {
  const amount = formatAmount(change < 0n ? -change : change, decimals)
  return { asset: symbol, asset_id: assetId, change: change < 0n ? `-${amount}` : amount }
}
