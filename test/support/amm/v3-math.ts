/**
 * Uniswap V3 in integers, as its contracts compute it: TickMath, SqrtPriceMath, SwapMath, TickBitmap and the loop of
 * `UniswapV3Pool.swap`, with their rounding. An oracle of its own: nothing of it is the code that it judges.
 */

const MIN_SQRT_PRICE = 4295128739n
const MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342n
export const MAX_TICK = 887_272
const Q96 = 1n << 96n
const MAX_UINT256 = (1n << 256n) - 1n
const MILLION = 1_000_000n

/** Factors of TickMath, as fractions of 2^128: the square root of 1.0001^-(2^i). */
const FACTORS = [
  0xfffcb933bd6fad37aa2d162d1a594001n,
  0xfff97272373d413259a46990580e213an,
  0xfff2e50f5f656932ef12357cf3c7fdccn,
  0xffe5caca7e10e4e61c3624eaa0941cd0n,
  0xffcb9843d60f6159c9db58835c926644n,
  0xff973b41fa98c081472e6896dfb254c0n,
  0xff2ea16466c96a3843ec78b326b52861n,
  0xfe5dee046a99a2a811c461f1969c3053n,
  0xfcbe86c7900a88aedcffc83b479aa3a4n,
  0xf987a7253ac413176f2b074cf7815e54n,
  0xf3392b0822b70005940c7a398e4b70f3n,
  0xe7159475a2c29b7443b29c7fa6e889d9n,
  0xd097f3bdfd2022b8845ad8f792aa5825n,
  0xa9f746462d870fdf8a65dc1f90e061e5n,
  0x70d869a156d2a1b890bb3df62baf32f7n,
  0x31be135f97d08fd981231505542fcfa6n,
  0x9aa508b5b7a84e1c677de54f3e99bc9n,
  0x5d6af8dedb81196699c329225ee604n,
  0x2216e584f5fa1ea926041bedfe98n,
  0x48a170391f7dc42444e8fa2n,
]

export function sqrtPriceAtTick(tick: number): bigint {
  const steps = Math.abs(tick)
  let ratio = FACTORS.reduce(
    (product, factor, i) => ((steps & (1 << i)) === 0 ? product : (product * factor) >> 128n),
    1n << 128n,
  )
  if (tick > 0) ratio = MAX_UINT256 / ratio
  return (ratio >> 32n) + (ratio % (1n << 32n) === 0n ? 0n : 1n)
}

/** The greatest tick whose price is not above. */
export function tickAtSqrtPrice(sqrtPrice: bigint): number {
  let [low, high] = [-MAX_TICK, MAX_TICK]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sqrtPriceAtTick(middle) <= sqrtPrice) low = middle
    else high = middle - 1
  }
  return low
}

export type V3State = {
  readonly feePpm: number
  readonly tickSpacing: number
  readonly sqrtPrice: bigint
  readonly tick: number
  readonly liquidity: bigint
  /** What each initialized tick adds when the price rises over it, in ascending order. */
  readonly ticks: readonly { readonly tick: number; readonly net: bigint; readonly sqrtPrice: bigint }[]
}

export type Swapped = {
  readonly amountIn: bigint
  readonly amountOut: bigint
  readonly sqrtPrice: bigint
}

/** @param isFirstIn whether the token with the lower address goes in, so that the price falls */
export function swapV3(
  state: V3State,
  {
    isFirstIn,
    exactOutput,
    amount,
  }: { readonly isFirstIn: boolean; readonly exactOutput: boolean; readonly amount: bigint },
  limit = isFirstIn ? MIN_SQRT_PRICE + 1n : MAX_SQRT_PRICE - 1n,
): Swapped {
  let { sqrtPrice, tick, liquidity } = state
  let [left, amountIn, amountOut] = [amount, 0n, 0n]
  while (left > 0n && sqrtPrice !== limit) {
    const next = nextTick(state, tick, isFirstIn)
    const isPastLimit = isFirstIn ? next.sqrtPrice < limit : next.sqrtPrice > limit
    const target = isPastLimit ? limit : next.sqrtPrice
    const step = stepTo({ sqrtPrice, target, liquidity, left, exactOutput, feePpm: BigInt(state.feePpm) })
    amountIn += step.amountIn + step.fee
    amountOut += step.amountOut
    left -= exactOutput ? step.amountOut : step.amountIn + step.fee
    if (step.sqrtPrice === next.sqrtPrice) {
      if (next.net !== null) liquidity += isFirstIn ? -next.net : next.net
      tick = isFirstIn ? next.tick - 1 : next.tick
    } else if (step.sqrtPrice !== sqrtPrice) tick = tickAtSqrtPrice(step.sqrtPrice)
    sqrtPrice = step.sqrtPrice
  }
  return { amountIn, amountOut, sqrtPrice }
}

/** The next initialized tick, or the end of the word of the bitmap: a swap stops there too, and rounds. */
function nextTick({ tickSpacing, ticks }: V3State, tick: number, falls: boolean) {
  const compressed = Math.floor(tick / tickSpacing) + (falls ? 0 : 1)
  const word = Math.floor(compressed / 256)
  const end = (falls ? word * 256 : word * 256 + 255) * tickSpacing
  const found = falls
    ? ticks.findLast((one) => one.tick <= compressed * tickSpacing && one.tick >= end)
    : ticks.find((one) => one.tick >= compressed * tickSpacing && one.tick <= end)
  if (found !== undefined) return found
  const bounded = Math.max(-MAX_TICK, Math.min(MAX_TICK, end))
  return { tick: bounded, sqrtPrice: sqrtPriceAtTick(bounded), net: null }
}

type Step = {
  readonly sqrtPrice: bigint
  readonly target: bigint
  readonly liquidity: bigint
  readonly left: bigint
  readonly exactOutput: boolean
  readonly feePpm: bigint
}

/** SwapMath.computeSwapStep. */
function stepTo({ sqrtPrice, target, liquidity, left, exactOutput, feePpm }: Step) {
  const falls = sqrtPrice >= target
  const inTo = (price: bigint) =>
    falls ? amount0(price, sqrtPrice, liquidity, true) : amount1(sqrtPrice, price, liquidity, true)
  const outTo = (price: bigint) =>
    falls ? amount1(price, sqrtPrice, liquidity, false) : amount0(sqrtPrice, price, liquidity, false)
  const afterFee = (left * (MILLION - feePpm)) / MILLION
  const isReached = exactOutput ? left >= outTo(target) : afterFee >= inTo(target)
  const end = isReached
    ? target
    : exactOutput
      ? priceAfterOut(sqrtPrice, liquidity, left, falls)
      : priceAfterIn(sqrtPrice, liquidity, afterFee, falls)
  const amountIn = inTo(end)
  const out = outTo(end)
  const amountOut = exactOutput && out > left ? left : out
  const fee = !exactOutput && end !== target ? left - amountIn : ceilDiv(amountIn * feePpm, MILLION - feePpm)
  return { sqrtPrice: end, amountIn, amountOut, fee }
}

function priceAfterIn(price: bigint, liquidity: bigint, amount: bigint, isFirst: boolean): bigint {
  if (!isFirst) return price + (amount << 96n) / liquidity
  return amount === 0n ? price : ceilDiv((liquidity << 96n) * price, (liquidity << 96n) + amount * price)
}

function priceAfterOut(price: bigint, liquidity: bigint, amount: bigint, falls: boolean): bigint {
  if (falls) return price - ceilDiv(amount << 96n, liquidity)
  return ceilDiv((liquidity << 96n) * price, (liquidity << 96n) - amount * price)
}

/** The amount of the token with the lower address between two prices. */
function amount0(low: bigint, high: bigint, liquidity: bigint, up: boolean): bigint {
  const numerator = (liquidity << 96n) * (high - low)
  return up ? ceilDiv(ceilDiv(numerator, high), low) : numerator / high / low
}

function amount1(low: bigint, high: bigint, liquidity: bigint, up: boolean): bigint {
  const product = liquidity * (high - low)
  return up ? ceilDiv(product, Q96) : product / Q96
}

function ceilDiv(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/** UniswapV2Library, for any fee. */
export function swapV2(
  [reserveIn, reserveOut]: readonly [bigint, bigint],
  feePpm: number,
  { exactOutput, amount }: { readonly exactOutput: boolean; readonly amount: bigint },
): bigint | null {
  const kept = MILLION - BigInt(feePpm)
  if (!exactOutput) return (amount * kept * reserveOut) / (reserveIn * MILLION + amount * kept)
  if (amount >= reserveOut) return null
  return (reserveIn * amount * MILLION) / ((reserveOut - amount) * kept) + 1n
}
