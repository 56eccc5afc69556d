/** What a request says of the account that it creates: on some forks that costs more than the transfer. Pure. */
import { formatAmount } from '../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../core/networks.ts'
import type { Intent } from './intent.ts'

/** @returns a sentence with the most that it costs, or `null` if the transfer creates no account */
export function costOfNewAccount({ reserved, network }: Pick<Intent, 'reserved' | 'network'>): string | null {
  const { newAccountGas = 0n, maxFeePerGas } = reserved
  if (newAccountGas === 0n) return null
  const cost = formatAmount(newAccountGas * maxFeePerGas, NATIVE_DECIMALS)
  return `The recipient is new: creating its account costs up to ${cost} ${NATIVE_SYMBOL[network]} more.`
}
