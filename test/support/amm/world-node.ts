/** A node that knows nothing but the pools of a generated market, and counts what it is asked. */
import { addressWord, uintWord, wordAt } from '../../../src/chain/hex.ts'
import type { RpcReader, RpcRequest } from '../../../src/chain/json-rpc.ts'
import { largest } from '../../../src/core/money.ts'
import { encodeRead } from '../../../src/swaps/contracts/exchange-reads.ts'
import { swapV2, swapV3 } from './v3-math.ts'
import type { World, WorldPool } from './worlds.ts'

/** As QuoterV2 measures it where no tick is crossed. */
const HOP_GAS = 65_000n
/** The price of a V3 pool may move by the square of this: PoolReads.sol. */
const MOST_MOVED = 8n
const BLOCK = { number: '0x1', hash: `0x${'11'.repeat(32)}`, parentHash: `0x${'22'.repeat(32)}` }

export type WorldNode = RpcReader & {
  /** Batches, each of which is one round trip. */
  readonly trips: () => number
  /** What its own answers took, ms. */
  readonly spentMs: () => number
}

export function worldNode(world: World): WorldNode {
  let [trips, spentMs] = [0, 0]
  return {
    spentMs: () => spentMs,
    trips: () => trips,
    async batch(requests) {
      trips += 1
      const startedAt = performance.now()
      const answers = requests.map((request) => ({ ok: true as const, value: answerTo(world, request) }))
      spentMs += performance.now() - startedAt
      return answers
    },
  }
}

/** What a pool gives, or takes for an exact output; `null` where it cannot, or its price would move too far. */
export function exchange(
  { tokens, feePpm, state }: WorldPool,
  from: string,
  { exactOutput, amount }: { readonly exactOutput: boolean; readonly amount: bigint },
): bigint | null {
  const isFirstIn = tokens[0].toLowerCase() === from.toLowerCase()
  if (Array.isArray(state)) {
    const [first, second] = state as readonly [bigint, bigint]
    const other = swapV2(isFirstIn ? [first, second] : [second, first], feePpm, { exactOutput, amount })
    return other === 0n ? null : other
  }
  const v3 = state as Exclude<WorldPool['state'], readonly [bigint, bigint]>
  if (v3.ticks.length === 0) return null
  const limit = isFirstIn ? v3.sqrtPrice / MOST_MOVED : v3.sqrtPrice * MOST_MOVED
  const { amountIn, amountOut, sqrtPrice } = swapV3(v3, { isFirstIn, exactOutput, amount }, limit)
  const other = exactOutput ? amountIn : amountOut
  return sqrtPrice === limit || other === 0n ? null : other
}

function answerTo(world: World, { method, params: [call] }: RpcRequest): unknown {
  if (method === 'eth_getBlockByNumber') return BLOCK
  const { to, data } = call as { readonly to?: string; readonly data: string }
  if (to === undefined) return readPools(world, data)
  const selector = data.slice(0, 10)
  const found = { '0x1698ee82': findPool, '0xe6a43905': findPool, '0xcdca1753': quoteV3, '0x2f80bb1d': quoteV3 }[
    selector
  ]
  if (found !== undefined) return found(world, to, data)
  return selector === '0xd06ca61f' || selector === '0x1f00ca74' ? quoteV2(world, to, data) : otherRead(data)
}

/** The fee of a V2 router, and allowances, of which there are none. */
function otherRead(data: string): string {
  const probed = data.startsWith('0x054d50d4') ? 10n ** 12n - 3n * 10n ** 9n : 0n
  return data === encodeRead('factory') ? '0x' : `0x${uintWord(probed)}`
}

/** The argument at a place after the selector. */
function argument(data: string, place: number): bigint {
  return wordAt(`0x${data.slice(10)}`, place) ?? 0n
}

function addressOf(word: bigint): string {
  return `0x${word.toString(16).padStart(40, '0')}`
}

function findPool({ pools }: World, factory: string, data: string): string {
  const tokens = [0, 1].map((place) => addressOf(argument(data, place)))
  const tier = data.startsWith('0x1698ee82') ? Number(argument(data, 2)) : null
  const found = pools.find(
    ({ venue, tokens: own, feePpm }) =>
      venue.factory.toLowerCase() === factory.toLowerCase() &&
      own.every((token, i) => token.toLowerCase() === tokens[i]) &&
      (tier === null || feePpm === tier),
  )
  return `0x${addressWord(found?.address ?? '0x')}`
}

/** PoolReads.sol. */
function readPools({ pools }: World, data: string): string {
  // Its arguments are the last words: as many as the number of pools and of amounts say.
  const digits = data.slice(2)
  for (let words = 11; words * 64 <= digits.length; words += 1) {
    const tail = `0x${digits.slice(-words * 64)}`
    const [, exact, first, second] = [0, 1, 2, 3].map((place) => wordAt(tail, place) ?? -1n)
    if (first !== 128n || second === undefined || exact === undefined || second < 0n) continue
    const amounts = Array.from({ length: Number(wordAt(tail, 4)) }, (_, i) => wordAt(tail, 5 + i) ?? 0n)
    const start = Number(second / 32n)
    const asked = Array.from({ length: Number(wordAt(tail, start)) }, (_, i) =>
      [0, 1, 2, 3, 4, 5].map((place) => wordAt(tail, start + 1 + i * 6 + place) ?? 0n),
    )
    return `0x${answersOf(pools, asked, amounts, exact === 1n)
      .map(uintWord)
      .join('')}`
  }
  throw new Error('not a call of PoolReads')
}

function answersOf(
  pools: readonly WorldPool[],
  asked: readonly bigint[][],
  amounts: readonly bigint[],
  exactOutput: boolean,
) {
  const own = asked.map(([, pool = 0n, from = 0n, , , stage = 0n]) => {
    const found = pools.find(({ address }) => BigInt(address) === pool)
    if (found === undefined) throw new Error('a pool is unknown')
    return { found, from: addressOf(from), stage }
  })
  const answer = ({ found, from }: (typeof own)[number], parts: readonly bigint[]) => {
    const points: Asked[] = []
    const ask = (amount: bigint) => points.push({ amount, other: exchange(found, from, { exactOutput, amount }) ?? 0n })
    for (const amount of parts) if (amount > 0n) ask(amount)
    while (found.venue.kind === 'v3' && points.length < POINTS && points.length > 0) {
      const next = between(points, exactOutput)
      if (next === 0n) break
      ask(next)
    }
    return points
  }
  const first = own.filter(({ stage }) => stage === 0n).map((one) => answer(one, amounts))
  const best = amounts.map((amount) => {
    const given = first.flatMap((points) => points.find((one) => one.amount === amount)?.other || [])
    return given.reduce((a, b) => (a === 0n || b < a === exactOutput ? b : a), 0n)
  })
  const most = first.flat().reduce((a, { other }) => largest(a, other), 0n)
  if (best.at(-1) === 0n && most > (best.at(-2) ?? most)) best.splice(-1, 1, most)
  return own.flatMap((one) => {
    const { state } = one.found
    const isEmpty = 'ticks' in state && state.ticks.length === 0
    const packed = 'ticks' in state ? state.sqrtPrice : (state[0] << 112n) | state[1]
    const points = isEmpty ? [] : answer(one, one.stage === 0n ? amounts : best)
    const words = points.map(({ amount, other }) => (amount << 128n) | other)
    return [isEmpty ? 0n : packed, ...words, ...Array<bigint>(POINTS - words.length).fill(0n)]
  })
}

const POINTS = 9
type Asked = { readonly amount: bigint; readonly other: bigint }

/** As PoolReads.sol chooses the next amount. */
function between(asked: readonly Asked[], exactOutput: boolean): bigint {
  const points = [{ amount: 0n, other: 0n }, ...[...asked].sort((a, b) => (a.amount < b.amount ? -1 : 1))]
  const slopes = points.slice(1).map(({ amount, other }, i) => {
    const { amount: x, other: y } = points[i] ?? { amount: 0n, other: 0n }
    return amount === x ? 0n : (distance(other, y) << 64n) / (amount - x)
  })
  let [most, chosen] = [0n, 0n]
  for (const [at, { amount, other }] of points.slice(1).entries()) {
    const before = points[at] ?? { amount: 0n, other: 0n }
    if (other === 0n && at > 0 && before.other === 0n) break
    const width = amount - before.amount
    const slope = slopes[at] ?? 0n
    const last = slopes[at - 1] ?? 0n
    const first = slopes[0] ?? 0n
    if (exactOutput ? last > first + first / 2n : at > 0 && last < first - first / 3n) break
    const next = (points[at + 2]?.other ?? 0n) === 0n ? slope : (slopes[at + 1] ?? slope)
    const bent = distance(last === 0n ? slope : last, slope) + distance(slope, next)
    const doubt = other > 0n ? ((bent * width) >> 64n) / 8n : at === 0 ? 1n << 127n : ((last * width) >> 64n) / 2n
    if (doubt > most && doubt > before.other / 50_000n && width > 1n) {
      most = doubt
      chosen = before.amount + width / 2n
    }
  }
  return chosen
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a
}

/** QuoterV2. */
function quoteV3({ pools }: World, _quoter: string, data: string): string {
  const exactOutput = data.startsWith('0x2f80bb1d')
  const length = Number(argument(data, 2))
  const path = data.slice(10 + 3 * 64, 10 + 3 * 64 + length * 2)
  const hops = Array.from({ length: (length - 20) / 23 }, (_, i) => {
    const [a, fee, b] = [
      path.slice(i * 46, i * 46 + 40),
      path.slice(i * 46 + 40, i * 46 + 46),
      path.slice(i * 46 + 46, i * 46 + 86),
    ]
    return { from: `0x${exactOutput ? b : a}`, to: `0x${exactOutput ? a : b}`, feePpm: Number.parseInt(fee, 16) }
  })
  let amount = argument(data, 1)
  for (const { from, to, feePpm } of hops) {
    const pool = pools.find(
      (one) =>
        one.venue.kind === 'v3' &&
        one.feePpm === feePpm &&
        [from, to].every((token) => one.tokens.some((own) => own.toLowerCase() === token)),
    )
    const given = pool && exchange(pool, from, { exactOutput, amount })
    if (given == null) return '0x'
    amount = given
  }
  const prices = [BigInt(hops.length), ...hops.map(() => 1n << 96n)]
  return `0x${[amount, 128n, 128n, BigInt(hops.length) * HOP_GAS, ...prices].map(uintWord).join('')}`
}

function quoteV2({ pools }: World, router: string, data: string): string {
  const exactOutput = data.startsWith('0x1f00ca74')
  const path = Array.from({ length: Number(argument(data, 2)) }, (_, i) => addressOf(argument(data, 3 + i)))
  const amounts = [argument(data, 0)]
  const hops = path.slice(1).map((to, i) => ({ from: path[i] ?? '', to }))
  for (const { from, to } of exactOutput ? hops.reverse() : hops) {
    const pool = pools.find(
      ({ venue, tokens }) =>
        venue.router.toLowerCase() === router.toLowerCase() &&
        [from, to].every((token) => tokens.some((own) => own.toLowerCase() === token)),
    )
    const given = pool && exchange(pool, from, { exactOutput, amount: amounts.at(-1) ?? 0n })
    if (given == null) return '0x'
    amounts.push(given)
  }
  const ordered = exactOutput ? amounts.reverse() : amounts
  return `0x${[32n, BigInt(ordered.length), ...ordered].map(uintWord).join('')}`
}
