/**
 * ERC-20 at the byte level: call data and logs are encoded and decoded by hand, since a general ABI coder costs a
 * hundred times more and this runs for every log of every block.
 */
import { addressWord, uintWord, wordAt } from './hex.ts'

const TRANSFER = '0xa9059cbb'
const BALANCE_OF = '0x70a08231'
const APPROVE = '0x095ea7b3'
const APPROVE_CALL = new RegExp(`^${APPROVE}0{24}([0-9a-f]{40})[0-9a-f]{64}$`)

/** keccak256 of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export type TokenTransfer = { readonly from: string; readonly to: string; readonly value: bigint }

/** Call data of `transfer(to, amount)`. @param amount base units */
export function encodeTransfer(to: string, amount: bigint): string {
  return TRANSFER + addressWord(to) + uintWord(amount)
}

/** Call data of `approve(spender, amount)`. @param amount base units */
export function encodeApprove(spender: string, amount: bigint): string {
  return APPROVE + addressWord(spender) + uintWord(amount)
}

/** Who may spend after a call of `approve`, in lower case; `null` for any other call data. */
export function approvedSpender(data: string): string | null {
  const [, spender] = APPROVE_CALL.exec(data.toLowerCase()) ?? []
  return spender === undefined ? null : `0x${spender}`
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

/** keccak256 of `Deposit(address,uint256)`. */
export const DEPOSIT_TOPIC = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
/** keccak256 of `Withdrawal(address,uint256)`. */
export const WITHDRAWAL_TOPIC = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'

/** What an account wrapped or unwrapped of the native currency, wei; the account in lower case. */
export type Wrapping = { readonly type: 'deposit' | 'withdrawal'; readonly account: string; readonly amount: bigint }

/**
 * Parses a Deposit or Withdrawal log of a wrapped native token (WETH9), which changes a balance without a Transfer.
 *
 * @returns `null` for any other log
 */
export function parseWrapLog({ topics: [topic, ...indexed], data }: TransferLog): Wrapping | null {
  if ((topic !== DEPOSIT_TOPIC && topic !== WITHDRAWAL_TOPIC) || indexed.length !== 1) return null
  const [account, amount] = [wordAt(indexed[0] ?? '', 0), wordAt(data, 0)]
  if (account === null || amount === null) return null
  return { type: topic === DEPOSIT_TOPIC ? 'deposit' : 'withdrawal', account: addressOf(account), amount }
}

const ADDRESS = 2n ** 160n

function addressOf(word: bigint): string {
  return `0x${(word % ADDRESS).toString(16).padStart(40, '0')}`
}
