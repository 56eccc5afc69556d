/** What a quote says about the price of its route, beside the price impact: strangers make pools, and their prices. Pure. */
import { PPM } from './contracts/exchange-reads.ts'
import { ratioOf } from './edges.ts'
import type { Hop } from './events.ts'
import { type Feeds, fairPrice } from './feeds.ts'
import type { FoundRoute, FoundRoutes } from './find-route.ts'
import type { PricedHop, PricedLeg } from './impact.ts'
import type { PriceIssue } from './quote.ts'

/** Fees, a feed that is behind, and pools that are not traded for a while stay below it. */
const NOTABLE_DIFFERENCE_BPS = 300
const BPS = 10_000
/** Of floating point, so that it does not become a hundredth of a percent. */
const ROUNDING = 1e-6

export type PricedRoute = {
  readonly chosen: FoundRoute
  readonly found: Pick<FoundRoutes, 'bestRate' | 'isComplete'>
  readonly feeds: Feeds
  /** Of the whole swap, as the quote says it. */
  readonly valueDifferenceBps: number | null
}

/** The first that holds, with the clearest first. */
export function priceIssueOf({ chosen, found, feeds, valueDifferenceBps }: PricedRoute): PriceIssue | null {
  const { route, legs } = chosen
  if (route.type === 'wrap' || route.type === 'unwrap') return null
  const hops = route.type === 'pools' ? route.legs.flatMap((leg, i) => pricedHops(leg.hops, legs[i])) : []
  const off = Math.max(Math.abs(valueDifferenceBps ?? 0), ...hops.map((hop) => offFeeds(hop, feeds)))
  if (off > NOTABLE_DIFFERENCE_BPS)
    return issue('differs_from_feeds', off, 'The swap, or a pool on its way, has another price than the feeds.')
  const behind = Math.max(0, ...legs.map((leg) => differenceBps(found.bestRate, firstRate(leg))))
  if (behind > NOTABLE_DIFFERENCE_BPS)
    return issue('pools_disagree', behind, 'Other pools, which this swap cannot use, have a better price.')
  if (valueDifferenceBps !== null) return null
  return found.isComplete
    ? issue('no_feed', null, 'An asset has no price feed: compare the price before you swap.')
    : issue('pools_unanswered', null, 'Some pools could not be asked, and an asset has no price feed.')
}

function issue(code: PriceIssue['code'], differenceBps: number | null, reason: string): PriceIssue {
  return { code, differenceBps, reason }
}

type NamedHop = Hop & PricedHop

function pricedHops(hops: readonly Hop[], leg: PricedLeg | undefined): readonly NamedHop[] {
  return hops.flatMap((hop, i) => {
    const price = leg?.hops[i]?.price
    return price === undefined ? [] : [{ ...hop, price }]
  })
}

/** By how much the price of a pool is above or below that of the feeds; 0 without both. */
function offFeeds({ from, to, price }: NamedHop, feeds: Feeds): number {
  const fair = fairPrice(feeds, from, to)
  if (fair === null) return 0
  const [lower, higher] = [ratioOf(fair), ratioOf(price)].sort((a, b) => a - b)
  return differenceBps(higher ?? 0, lower ?? 0)
}

/** What a leg gives for the first base unit. */
function firstRate({ hops }: PricedLeg): number {
  return hops.reduce((rate, { price, feePpm }) => (rate * ratioOf(price) * (Number(PPM) - feePpm)) / Number(PPM), 1)
}

/** By how much a rate is below a better one, rounded up; 0 where it is not. */
function differenceBps(better: number, rate: number): number {
  return better > rate ? Math.ceil((1 - rate / better) * BPS - ROUNDING) : 0
}
