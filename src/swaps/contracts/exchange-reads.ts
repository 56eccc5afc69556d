/**
 * Reads of exchanges at the byte level: call data and answers of pools and quoters of the Uniswap V2 and V3 kinds. They
 * are encoded by hand, since one quote has dozens of them and a general ABI coder costs a hundred times more. Amounts
 * are base units; fees are millionths (ppm).
 */
import { toChecksumAddress } from '../../chain/address.ts'
import { addressWord, uintWord, wordAt } from '../../chain/hex.ts'
import type { CallReturn } from '../../chain/multicall.ts'

const SELECTORS = {
  getPool: '0x1698ee82',
  getPair: '0xe6a43905',
  getAmountOut: '0x054d50d4',
  getAmountsOut: '0xd06ca61f',
  getAmountsIn: '0x1f00ca74',
  quoteExactInput: '0xcdca1753',
  quoteExactOutput: '0x2f80bb1d',
  allowance: '0xdd62ed3e',
  factory: '0xc45a0155',
  factoryV2: '0x68e0d4e1',
  WETH: '0xad5c4648',
  WETH9: '0x4aa4a4fc',
} as const

/** Tick limits of Uniswap V3 (TickMath): a swap that ends within 1 of them found no more liquidity. */
const MIN_SQRT_PRICE = 4295128739n
const MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342n

/** Longest path of a quote: more prices in an answer are malformed. */
const MAX_HOPS = 8n

/** Call data of a view function without arguments. */
export function encodeRead(name: 'factory' | 'factoryV2' | 'WETH' | 'WETH9'): string {
  return SELECTORS[name]
}

/** The address that a view function returned, EIP-55; `null` for none, and for the zero address. */
export function addressAt(data: CallReturn): string | null {
  const word = data === null ? null : wordAt(data, 0)
  if (word === null || word === 0n || word >> 160n !== 0n) return null
  return toChecksumAddress(`0x${word.toString(16).padStart(40, '0')}`)
}

/** Large enough that the rounding of a router's answer is far below one millionth. */
const FEE_PROBE = 10n ** 12n
const FEE_PROBE_RESERVE = 10n ** 30n

export const PPM = 1_000_000n

/** Reads the fee of every pair of a V2 router: `getAmountOut` of a pair with the price 1 and no price impact. */
export const READ_V2_FEE =
  SELECTORS.getAmountOut + uintWord(FEE_PROBE) + uintWord(FEE_PROBE_RESERVE) + uintWord(FEE_PROBE_RESERVE)

/** @returns ppm; `null` when the router has no such function */
export function v2FeeOf(data: CallReturn): number | null {
  const out = data === null ? null : wordAt(data, 0)
  if (out === null || out > FEE_PROBE || out === 0n) return null
  const unit = FEE_PROBE / PPM
  return Number((FEE_PROBE - out + unit / 2n) / unit)
}

/** @param feePpm the tier */
export function encodeGetPool(a: string, b: string, feePpm: number): string {
  return SELECTORS.getPool + addressWord(a) + addressWord(b) + uintWord(BigInt(feePpm))
}

export function encodeGetPair(a: string, b: string): string {
  return SELECTORS.getPair + addressWord(a) + addressWord(b)
}

/** Call data of ERC-20's `allowance`. */
export function encodeAllowance(owner: string, spender: string): string {
  return SELECTORS.allowance + addressWord(owner) + addressWord(spender)
}

/** A square root of a price as a fraction of 2^96; `null` for none, before the pool is initialized. */
export function sqrtPriceOfWord(price: bigint): bigint | null {
  return price < MIN_SQRT_PRICE || price > MAX_SQRT_PRICE ? null : price
}

/** Whether the first token of a pool is `a`: pools order their tokens by address. */
export function isFirst(a: string, b: string): boolean {
  return a.toLowerCase() < b.toLowerCase()
}

export type QuotedHop = { readonly from: string; readonly to: string; readonly feePpm: number }

/** A V3 path: tokens with the tier between them, packed. For an exact output it runs backwards. */
export function packPath(hops: readonly QuotedHop[], exactOutput: boolean): string {
  const [first] = hops
  if (first === undefined) throw new Error('a path must have a hop')
  const ordered = exactOutput ? hops.map(({ from, to, feePpm }) => ({ from: to, to: from, feePpm })).reverse() : hops
  const start = (ordered[0] ?? first).from
  return [start.slice(2), ...ordered.map(({ to, feePpm }) => feePpm.toString(16).padStart(6, '0') + to.slice(2))]
    .join('')
    .toLowerCase()
}

/** Call data of a quote from a V3 quoter (QuoterV2). @param amount what comes in, or what goes out */
export function encodeV3Quote(hops: readonly QuotedHop[], amount: bigint, exactOutput: boolean): string {
  const path = packPath(hops, exactOutput)
  const words = Math.ceil(path.length / 64) * 64
  return (
    (exactOutput ? SELECTORS.quoteExactOutput : SELECTORS.quoteExactInput) +
    uintWord(64n) +
    uintWord(amount) +
    uintWord(BigInt(path.length / 2)) +
    path.padEnd(words, '0')
  )
}

export type V3Quote = { readonly amount: bigint; readonly gas: bigint }

/**
 * The answer of QuoterV2: the amount, the prices after each hop, the crossed ticks, and the gas. @returns `null` when
 * the pools cannot take the whole amount: the quoter does not refuse that, but a price is then at its limit
 */
export function v3QuoteOf(data: CallReturn): V3Quote | null {
  if (data === null) return null
  const [amount, offset, , gas] = [0, 1, 2, 3].map((word) => wordAt(data, word))
  if (amount == null || offset == null || gas == null || offset % 32n !== 0n || offset > 1_024n) return null
  const at = Number(offset / 32n)
  const length = wordAt(data, at)
  if (length === null || length === 0n || length > MAX_HOPS) return null
  const prices = Array.from({ length: Number(length) }, (_, i) => wordAt(data, at + 1 + i))
  const whole = prices.every((price) => price !== null && price > MIN_SQRT_PRICE + 1n && price < MAX_SQRT_PRICE - 1n)
  return whole && amount > 0n ? { amount, gas } : null
}

/** Call data of a quote from a V2 router. @param tokens the path, first in, last out */
export function encodeV2Quote(tokens: readonly string[], amount: bigint, exactOutput: boolean): string {
  return (
    (exactOutput ? SELECTORS.getAmountsIn : SELECTORS.getAmountsOut) +
    uintWord(amount) +
    uintWord(64n) +
    uintWord(BigInt(tokens.length)) +
    tokens.map(addressWord).join('')
  )
}

/** The amount at the other end of the path; `null` when the pools cannot take the amount. */
export function v2QuoteOf(data: CallReturn, tokens: number, exactOutput: boolean): bigint | null {
  if (data === null || wordAt(data, 0) !== 32n || wordAt(data, 1) !== BigInt(tokens)) return null
  const amount = wordAt(data, exactOutput ? 2 : 1 + tokens)
  return amount === null || amount === 0n ? null : amount
}
