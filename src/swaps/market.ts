/** What a chain offers for swaps: its exchanges, the wrapped native token, and tokens that routes may pass through. */
import type { GasRules } from '../chain/forks.ts'
import type { AmountType } from './events.ts'
import type { VenueSettings } from './exchange-settings.ts'

/** An exchange whose contracts were checked on chain. */
export type Venue = VenueSettings & {
  readonly factory: string
  /** The factory of the V2 pairs that a V3 router also swaps on; `null` for none, and for V2. */
  readonly factoryV2: string | null
}

/**
 * The exchange whose router can swap on pools of both in one call; `null` when none can. For an exact output not on a V2
 * pair: a V3 router gives what the pair computes for the rounded input, which can be a little more than asked.
 */
export function jointVenue(a: Venue, b: Venue, amountType: AmountType): Venue | null {
  if (a.kind === b.kind) return a === b && a.kind === 'v3' ? a : null
  if (amountType === 'exact_output') return null
  const [v3, v2] = a.kind === 'v3' ? [a, b] : [b, a]
  return v3.factoryV2 === v2.factory ? v3 : null
}

export type Market = {
  readonly chainId: number
  readonly venues: readonly Venue[]
  readonly wrapped: string
  readonly hops: readonly string[]
  readonly rules: GasRules
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
