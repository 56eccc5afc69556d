/** The prices that no pool can change, by contract. Pure. */
import type { Price } from './impact.ts'
import { readPrice } from './value-difference.ts'

/** What one base unit of a token is worth in US dollars, as a fraction; `null` without a feed. */
export type Feeds = (token: string) => Price | null

/** @param usd US dollars for a whole unit, a decimal string; `null` when unknown */
export function feedPrice(usd: string | null, decimals: number): Price | null {
  const price = readPrice(usd)
  return price && { out: price.units, in: 10n ** BigInt(decimals + price.decimals) }
}

/** What one base unit of a token is worth in another, by their feeds. */
export function fairPrice(feeds: Feeds, from: string, to: string): Price | null {
  if (from === to) return { in: 1n, out: 1n }
  const [own, other] = [feeds(from), feeds(to)]
  return own && other && { out: own.out * other.in, in: own.in * other.out }
}
