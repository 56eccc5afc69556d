/**
 * Prices from Chainlink feeds (AggregatorV3Interface), batched. A price that is stale, negative or from an unfinished
 * round is ignored.
 */
import { wordAt } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type CallReturn, readContracts } from '../chain/multicall.ts'

const LATEST_ROUND_DATA = '0xfeaf968c'
const DECIMALS = '0x313ce567'

const INT256_LIMIT = 1n << 255n

export type PriceFeed = { readonly symbol: string; readonly address: string }

export type Price = {
  /** US dollars per unit of the asset, times 10^decimals. */
  readonly answer: bigint
  readonly decimals: number
  /** When the feed was last updated, s since the epoch. */
  readonly updatedAt: number
}

/**
 * @returns for each feed, in order, its price or `null`
 * @throws Unavailable when no node answered
 */
export async function readPrices(options: {
  readonly client: RpcReader
  /** `null` if the chain has no Multicall3. */
  readonly multicall3: string | null
  readonly feeds: readonly PriceFeed[]
  /** Feeds of volatile assets update hourly, those of stable coins daily; a little more than a day covers both. */
  readonly maxAgeMs: number
  /** A clock, ms. */
  readonly now: () => number
}): Promise<(Price | null)[]> {
  const { client, multicall3, feeds } = options
  const oldest = BigInt(Math.floor((options.now() - options.maxAgeMs) / 1_000))
  const calls = feeds.flatMap(({ address }) => [
    { target: address, data: LATEST_ROUND_DATA },
    { target: address, data: DECIMALS },
  ])
  const returns = await readContracts(client, multicall3, calls, 'latest')
  return feeds.map((_feed, i) => readPrice(returns[2 * i] ?? null, returns[2 * i + 1] ?? null, oldest))
}

/** @param oldest s since the epoch */
function readPrice(round: CallReturn, decimalsData: CallReturn, oldest: bigint): Price | null {
  if (round === null || decimalsData === null) return null
  const [roundId, answer, startedAt, updatedAt, answeredInRound] = [0, 1, 2, 3, 4].map((i) => wordAt(round, i))
  const decimals = wordAt(decimalsData, 0)
  if (roundId == null || answer == null || startedAt == null || updatedAt == null || answeredInRound == null)
    return null
  if (decimals === null || decimals > 36n) return null
  // The top bit of a negative int256 is set.
  if (answer === 0n || answer >= INT256_LIMIT) return null
  const complete = startedAt > 0n && updatedAt > 0n && answeredInRound >= roundId
  if (!complete || updatedAt < oldest) return null
  return { answer, decimals: Number(decimals), updatedAt: Number(updatedAt) }
}
