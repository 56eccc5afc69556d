/** What a chain offers for swaps: its exchanges, the wrapped native token, and tokens that routes may pass through. */
import type { VenueSettings } from '../chain/settings.ts'

/** An exchange whose contracts were checked on chain. */
export type Venue = VenueSettings & { readonly factory: string }

export type Market = {
  readonly chainId: number
  readonly venues: readonly Venue[]
  readonly wrapped: string
  readonly hops: readonly string[]
}

/** Two tokens, in the order in which they are exchanged. */
export type Pair = readonly [from: string, to: string]

/** Tokens that a route between two tokens may pass through, without these two. */
export function betweenTokens({ wrapped, hops }: Market, [from, to]: Pair): readonly string[] {
  return [...new Set([wrapped, ...hops])].filter((token) => token !== from && token !== to)
}

/** Every pair that a quote needs: the tokens themselves, each through another token, and the native currency as gas. */
export function pairsOf(market: Market, pair: Pair): readonly Pair[] {
  const [from, to] = pair
  return [
    pair,
    ...betweenTokens(market, pair).flatMap((token): Pair[] => [
      [from, token],
      [token, to],
    ]),
  ]
}
