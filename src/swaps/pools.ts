/**
 * The pools of a chain's exchanges, as their factories name them. A pool's address never changes, so it is remembered
 * permanently; that there is none is remembered briefly, since anybody can create one. Memory is bounded.
 */
import { LRUCache } from 'lru-cache'
import type { CallReturn, ContractCall } from '../chain/multicall.ts'
import { addressAt, encodeGetPair, encodeGetPool, isFirst, READ_V2_FEE, v2FeeOf } from './contracts/exchange-reads.ts'
import type { Market, Pair, Venue } from './market.ts'

export type Pool = {
  readonly venue: Venue
  /** EIP-55. */
  readonly address: string
  /** Its tokens, lower address first. */
  readonly tokens: Pair
  /** Millionths of what comes in. */
  readonly feePpm: number
}

/** What is not remembered, and how to remember it. */
export type PoolLookup = { readonly calls: readonly ContractCall[]; readonly keep: (returns: CallReturn[]) => void }

export type PoolBook = {
  readonly lookup: (market: Market, pairs: readonly Pair[]) => PoolLookup
  /** Those of the pairs that exist, after the lookup. */
  readonly poolsOf: (market: Market, pairs: readonly Pair[]) => readonly Pool[]
}

/** A place where there may be a pool. Pairs of V2 have one fee, which their router knows. */
type Place = { readonly key: string; readonly call: ContractCall; readonly venue: Venue; readonly tokens: Pair } & {
  readonly tier: number | null
}

const ABSENT_TTL_MS = 30_000
/** About 300 bytes each. */
const MAX_PLACES = 20_000
/** The fee of Uniswap V2, for a router that does not say. */
const USUAL_V2_FEE_PPM = 3_000

/** @param now a clock, ms */
export function createPoolBook(now: () => number): PoolBook {
  /** The address of each place; '' where there is none. */
  const places = new LRUCache<string, string>({ max: MAX_PLACES, perf: { now } })
  const fees = new Map<string, number>()

  return {
    lookup(market, pairs) {
      const open = placesOf(market, pairs).filter(({ key }) => !places.has(key))
      const unknown = market.venues.filter((venue) => venue.kind === 'v2' && !fees.has(feeKey(market, venue)))
      return {
        calls: [
          ...open.map(({ call }) => call),
          ...unknown.map(({ router }) => ({ target: router, data: READ_V2_FEE })),
        ],
        keep(returns) {
          for (const [i, { key }] of open.entries()) remember(places, key, returns[i] ?? null)
          for (const [i, venue] of unknown.entries())
            fees.set(feeKey(market, venue), v2FeeOf(returns[open.length + i] ?? null) ?? USUAL_V2_FEE_PPM)
        },
      }
    },
    poolsOf: (market, pairs) =>
      placesOf(market, pairs).flatMap(({ key, venue, tokens, tier }) => {
        const address = places.get(key) ?? ''
        const feePpm = tier ?? fees.get(feeKey(market, venue)) ?? USUAL_V2_FEE_PPM
        return address === '' ? [] : [{ venue, address, tokens, feePpm }]
      }),
  }
}

function remember(places: LRUCache<string, string>, key: string, data: CallReturn): void {
  const address = addressAt(data)
  if (address === null) places.set(key, '', { ttl: ABSENT_TTL_MS })
  else places.set(key, address)
}

function placesOf(market: Market, pairs: readonly Pair[]): readonly Place[] {
  return market.venues.flatMap((venue) => pairs.flatMap((pair) => placesIn(market, venue, pair)))
}

function placesIn({ chainId }: Market, venue: Venue, [a, b]: Pair): Place[] {
  const tokens: Pair = isFirst(a, b) ? [a, b] : [b, a]
  const place = (tier: number | null, data: string): Place => ({
    key: `${chainId} ${venue.factory} ${tokens[0]} ${tokens[1]} ${tier ?? ''}`,
    call: { target: venue.factory, data },
    venue,
    tokens,
    tier,
  })
  return venue.kind === 'v2'
    ? [place(null, encodeGetPair(tokens[0], tokens[1]))]
    : venue.tiers.map((tier) => place(tier, encodeGetPool(tokens[0], tokens[1], tier)))
}

function feeKey({ chainId }: Market, { router }: Venue): string {
  return `${chainId} ${router}`
}
