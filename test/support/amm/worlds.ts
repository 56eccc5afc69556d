/** Markets generated from a seed in the shapes of real ones, for quotes that are compared with the best there is. */
import { isFirst } from '../../../src/swaps/contracts/exchange-reads.ts'
import { type Feeds, feedPrice } from '../../../src/swaps/feeds.ts'
import { betweenTokens, type Market, type Pair, type Venue } from '../../../src/swaps/market.ts'
import { OSAKA } from '../gas.ts'
import { MAX_TICK, sqrtPriceAtTick, tickAtSqrtPrice, type V3State } from './v3-math.ts'

export type WorldToken = {
  readonly symbol: string
  readonly address: string
  readonly usd: number
  readonly decimals: number
}

export type WorldPool = {
  readonly address: string
  readonly venue: Venue
  readonly tokens: Pair
  readonly feePpm: number
  /** Reserves for a V2 pair. */
  readonly state: V3State | readonly [bigint, bigint]
}

export type World = {
  readonly market: Market
  readonly feeds: Feeds
  readonly from: WorldToken
  readonly to: WorldToken
  readonly pools: readonly WorldPool[]
}

type Random = () => number

const SPACINGS: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3000: 60, 10000: 200 }
const TIERS = [100, 500, 3_000, 10_000]

const address = (tag: number) => `0x${tag.toString(16).padStart(40, '0')}`

const V3: Venue = {
  name: 'v3',
  kind: 'v3',
  router: address(0xa1),
  quoter: address(0xa2),
  factory: address(0xa3),
  factoryV2: address(0xb3),
  tiers: TIERS,
}
const V2: Venue = {
  name: 'v2',
  kind: 'v2',
  router: address(0xb1),
  quoter: address(0xb1),
  factory: address(0xb3),
  factoryV2: null,
  tiers: [],
}
const OTHER: Venue = { ...V2, name: 'other-v2', router: address(0xc1), quoter: address(0xc1), factory: address(0xc3) }

const WETH = { symbol: 'WETH', address: address(0x20_0001), usd: 3_000, decimals: 18 }
const USDC = { symbol: 'USDC', address: address(0x10_0002), usd: 1, decimals: 6 }
const USDT = { symbol: 'USDT', address: address(0x30_0003), usd: 1.0004, decimals: 6 }
const DAI = { symbol: 'DAI', address: address(0x18_0004), usd: 0.9997, decimals: 18 }
const MARKET: Market = {
  chainId: 1,
  venues: [V3, V2, OTHER],
  wrapped: WETH.address,
  hops: [USDC.address, USDT.address],
  rules: OSAKA,
}

/** The same numbers for the same seed. */
function randomOf(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Every fourth pair is of two stable tokens, every fourth of two volatile ones, and half of one of each. */
export function worldOf(seed: number): World {
  const random = randomOf(seed)
  const volatile = (n: number): WorldToken => ({
    symbol: `X${n}`,
    address: address(Math.floor(random() * 2 ** 32) + 0x1000_0000 * n),
    usd: between(random, 0.001, 5_000),
    decimals: [6, 8, 18, 18][Math.floor(random() * 4)] ?? 18,
  })
  const stable = [USDC, USDT, DAI][Math.floor(random() * 3)] ?? USDC
  const pairs: readonly (readonly [WorldToken, WorldToken])[] = [
    [stable, stable === DAI ? USDC : DAI],
    [volatile(1), random() < 0.5 ? WETH : volatile(2)],
    [volatile(1), stable],
    [stable, random() < 0.5 ? WETH : volatile(1)],
  ]
  const [from, to] = pairs[seed % pairs.length] ?? [USDC, WETH]
  const tokens = [from, to, WETH, USDC, USDT]
  const known = (token: string) => tokens.find((one) => one.address === token) ?? from
  const over = betweenTokens(MARKET, [from.address, to.address]).flatMap(
    (token): (readonly [WorldToken, WorldToken])[] => [
      [from, known(token)],
      [known(token), to],
    ],
  )
  const pools = [[from, to] as const, ...over].flatMap(([a, b]) => poolsOf(random, a, b))
  const feeds: Feeds = (token) => {
    const found = tokens.find((one) => one.address === token)
    return found === undefined ? null : feedPrice(found.usd.toFixed(9), found.decimals)
  }
  return { market: MARKET, feeds, from, to, pools: pools.filter(isFirstOfPlace) }
}

/** Two pairs of a world may be the same. */
function isFirstOfPlace(pool: WorldPool, at: number, all: readonly WorldPool[]): boolean {
  const placeOf = ({ venue, tokens, feePpm }: WorldPool) => [venue.name, ...tokens, feePpm].join()
  return all.findIndex((other) => placeOf(other) === placeOf(pool)) === at
}

/** Log-uniform. */
function between(random: Random, low: number, high: number): number {
  return low * (high / low) ** random()
}

const isStable = ({ usd }: WorldToken) => Math.abs(usd - 1) < 0.01

function poolsOf(random: Random, a: WorldToken, b: WorldToken): WorldPool[] {
  const tokens: Pair = isFirst(a.address, b.address) ? [a.address, b.address] : [b.address, a.address]
  const [first, second] = tokens[0] === a.address ? [a, b] : [b, a]
  const isCore = [a, b].every((token) => token === WETH || isStable(token))
  const own = () => ({ address: address(Math.floor(random() * 2 ** 48) + 2 ** 50), tokens })
  // Traders keep the prices of pools within their fees of each other.
  const priceOf = (feePpm: number) =>
    ((first.usd / 10 ** first.decimals / (second.usd / 10 ** second.decimals)) * (1e6 + (random() - 0.5) * feePpm)) /
    1e6
  const dollars = () => between(random, isCore ? 500_000 : 100_000, isCore ? 100_000_000 : 20_000_000)
  const v3 = TIERS.flatMap((feePpm): WorldPool[] => {
    const kind = random()
    if (kind < 0.3) return []
    const shape = kind < 0.4 ? 'empty' : kind < 0.6 ? 'full' : 'concentrated'
    const value = dollars()
    return [
      {
        ...own(),
        venue: V3,
        feePpm,
        state: v3State(random, { feePpm, price: priceOf(feePpm), value, shape, first, second }),
      },
    ]
  })
  const v2 = [V2, OTHER].flatMap((venue): WorldPool[] => {
    if (random() < 0.4) return []
    const half = dollars() / 2
    const reserve = (token: WorldToken) => BigInt(Math.floor((half / token.usd) * 10 ** token.decimals))
    const other = BigInt(Math.floor(Number(reserve(first)) * priceOf(3_000)))
    return [{ ...own(), venue, feePpm: 3_000, state: [reserve(first), other] }]
  })
  return [...v3, ...v2]
}

type Shape = {
  readonly feePpm: number
  /** Base units of the second token for one of the first. */
  readonly price: number
  /** US dollars of all positions. */
  readonly value: number
  readonly shape: 'empty' | 'full' | 'concentrated'
  readonly first: WorldToken
  readonly second: WorldToken
}

function v3State(random: Random, { feePpm, price, value, shape, first, second }: Shape): V3State {
  const tickSpacing = SPACINGS[feePpm] ?? 60
  const sqrtPrice = BigInt(Math.floor(Math.sqrt(price) * 2 ** 96))
  const tick = tickAtSqrtPrice(sqrtPrice)
  const aligned = (at: number) => Math.round(at / tickSpacing) * tickSpacing
  const last = Math.floor(MAX_TICK / tickSpacing) * tickSpacing
  const widest = isStable(first) && isStable(second) ? 60 : 4_000
  const near = () => {
    const width = between(random, tickSpacing * 2, Math.max(widest, tickSpacing * 4))
    const middle = tick + (random() - 0.5) * width * 1.6
    return [aligned(middle - width), aligned(middle + width) + tickSpacing] as const
  }
  const count = shape === 'empty' ? 0 : shape === 'full' ? 1 : 3 + Math.floor(random() * 9)
  const ranges = Array.from({ length: count }, (_, i) => (i === 0 ? ([-last, last] as const) : near()))
  const net = new Map<number, bigint>()
  let liquidity = 0n
  for (const [i, [lower, upper]] of ranges.entries()) {
    // What is far from the price has a tenth of the money.
    const share = count === 1 ? 1 : i === 0 ? 0.1 : 0.9 / (count - 1)
    const amount = liquidityOf(value * share, { price, lower, upper, first, second })
    net.set(lower, (net.get(lower) ?? 0n) + amount)
    net.set(upper, (net.get(upper) ?? 0n) - amount)
    if (lower <= tick && tick < upper) liquidity += amount
  }
  const ticks = [...net]
    .filter(([, change]) => change !== 0n)
    .sort(([a], [b]) => a - b)
    .map(([at, change]) => ({ tick: at, net: change, sqrtPrice: sqrtPriceAtTick(at) }))
  return { feePpm, tickSpacing, sqrtPrice, tick, liquidity, ticks }
}

type Range = Pick<Shape, 'price' | 'first' | 'second'> & { readonly lower: number; readonly upper: number }

/** Of a position that is worth so many US dollars. */
function liquidityOf(value: number, { price, lower, upper, first, second }: Range): bigint {
  const root = (tick: number) => 1.0001 ** (tick / 2)
  const at = Math.min(Math.max(Math.sqrt(price), root(lower)), root(upper))
  const firstUnits = 1 / at - 1 / root(upper)
  const secondUnits = at - root(lower)
  const worth = (firstUnits * first.usd) / 10 ** first.decimals + (secondUnits * second.usd) / 10 ** second.decimals
  return BigInt(Math.floor(value / worth))
}
