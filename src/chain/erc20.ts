/**
 * ERC-20 at the byte level: call data and logs are encoded and decoded by hand, since a general ABI coder costs a
 * hundred times more and this runs for every log of every block.
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

type TransferLog = { readonly topics: readonly string[]; readonly data: string }

/**
 * Parses a Transfer log of ERC-20.
 *
 * @returns addresses in lower case; `null` for any other log, including the Transfer of ERC-721 (three indexed fields)
 */
export function parseTransferLog(log: TransferLog): TokenTransfer | null {
  return log.topics.length === 3 ? parseAnyTransferLog(log) : null
}

/**
 * Parses a Transfer log of a contract that is known to be a token: some tokens index more or fewer of the three fields
 * than ERC-20 specifies.
 *
 * @returns addresses in lower case; `null` for any other log
 */
export function parseAnyTransferLog({ topics: [topic, ...indexed], data }: TransferLog): TokenTransfer | null {
  if (topic !== TRANSFER_TOPIC || indexed.some((field) => field.length !== 66)) return null
  const fields = `0x${indexed.map((field) => field.slice(2)).join('')}${data.slice(2)}`
  const [from, to, value] = [wordAt(fields, 0), wordAt(fields, 1), wordAt(fields, 2)]
  if (from === null || to === null || value === null) return null
  return { from: addressOf(from), to: addressOf(to), value }
}

const ADDRESS = 2n ** 160n

function addressOf(word: bigint): string {
  return `0x${(word % ADDRESS).toString(16).padStart(40, '0')}`
}
