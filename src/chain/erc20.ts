/**
 * ERC-20 at the byte level: call data is built and logs are read by hand, since a general ABI coder costs a hundred times
 * more and this runs for every log of every block.
 */
import { addressWord, readData, uintWord, wordAt } from './hex.ts'
import { type RpcReader, type RpcResult, resultValue } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

const TRANSFER = '0xa9059cbb'
const BALANCE_OF = '0x70a08231'
const SYMBOL = '0x95d89b41'
const DECIMALS = '0x313ce567'
const NAME = '0x06fdde03'

/** keccak256 of `Transfer(address,address,uint256)`. */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** Longer names are decoration or an attack on whoever prints them. */
const MAX_TEXT_BYTES = 64

export type TokenMetadata = { readonly symbol: string; readonly name: string; readonly decimals: number }

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

/**
 * Asks a contract what token it is.
 *
 * @returns `null` when it is no ERC-20: nothing there, a call that reverts, or answers that are not of the standard's types
 * @throws Unavailable when no node answered
 */
export async function readTokenMetadata(client: RpcReader, token: string): Promise<TokenMetadata | null> {
  const calls = [SYMBOL, NAME, DECIMALS].map((data) => ({
    method: 'eth_call',
    params: [{ to: token, data }, 'latest'],
  }))
  const [symbolData, nameData, decimalsData] = (await client.batch(calls)).map(returned)
  const symbol = readText(symbolData)
  const decimals = decimalsData === undefined ? null : wordAt(decimalsData, 0)
  if (symbol === null || symbol === '' || decimals === null || decimals > 255n) return null
  return { symbol, name: readText(nameData) ?? symbol, decimals: Number(decimals) }
}

/** What a call returned; nothing when it reverted. */
function returned(result: RpcResult): string {
  if (!result.ok && classifyCallFailure(result.error).type === 'reverted') return '0x'
  return readData(resultValue(result, 'eth_call'), 'the answer to eth_call')
}

/** A `string`, or a `bytes32` padded with zeros as tokens older than the standard return. */
function readText(data: string | undefined): string | null {
  if (data === undefined || data.length < 66) return null
  const bytes = Buffer.from(data.slice(2), 'hex')
  if (bytes.length === 32) return clean(bytes)
  const length = wordAt(data, 1)
  if (wordAt(data, 0) !== 32n || length === null || length > BigInt(bytes.length - 64)) return null
  return clean(bytes.subarray(64, 64 + Number(length)))
}

/** UTF-8 without what cannot be seen (controls, direction marks, broken bytes), of bounded length. */
function clean(bytes: Buffer): string {
  const text = bytes.subarray(0, MAX_TEXT_BYTES).toString('utf8')
  return text
    .replace(/[\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/gu, '')
    .normalize('NFC')
    .trim()
}
