/**
 * ERC-20 at the byte level: call data is built and logs are read by hand, since a general ABI coder costs a hundred times
 * more and this runs for every log of every block.
 */
import { addressWord, uintWord, wordAt } from './hex.ts'

const TRANSFER = '0xa9059cbb'
const BALANCE_OF = '0x70a08231'

/** keccak256 of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export type TokenTransfer = { readonly from: string; readonly to: string; readonly value: bigint }

/** Call data of `transfer(to, amount)`. @param amount base units */
export function encodeTransfer(to: string, amount: bigint): string {
  return TRANSFER + addressWord(to) + uintWord(amount)
}

/** Call data of `balanceOf(owner)`. */
export function encodeBalanceOf(owner: string): string {
  return BALANCE_OF + addressWord(owner)
}

/**
 * Reads a Transfer of ERC-20.
 *
 * @returns addresses in lower case; `null` for any other log, the Transfer of ERC-721 (three indexed fields) included
 */
export function parseTransferLog(log: {
  readonly topics: readonly string[]
  readonly data: string
}): TokenTransfer | null {
  const [topic, from, to] = log.topics
  if (topic !== TRANSFER_TOPIC || log.topics.length !== 3 || from?.length !== 66 || to?.length !== 66) return null
  const value = wordAt(log.data, 0)
  return value === null ? null : { from: `0x${from.slice(26)}`, to: `0x${to.slice(26)}`, value }
}
