/** Whether a token refuses a transfer by what it returns, as OpenZeppelin's SafeERC20 interprets it. */
import { wordAt } from './hex.ts'

/**
 * No return data, or true, is a success.
 *
 * @param value the result of an `eth_call` of `transfer`; false for one that is no text
 */
export function returnsFalse(value: unknown): boolean {
  return typeof value === 'string' && value !== '0x' && wordAt(value, 0) !== 1n
}
