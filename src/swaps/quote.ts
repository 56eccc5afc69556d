/**
 * A quote for a swap as it is stored: plain JSON, with everything that the swap needs to be what was quoted.
 *
 * Invariant: the id of a quote is a digest of the rest of it, so whoever has the id knows whether stored content is what
 * was quoted.
 */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import type { Network } from '../core/networks.ts'
import { swaps } from './declaration.ts'
import type { Swap } from './events.ts'

export type Approval = {
  /** Whether the router may take less than the swap needs. */
  readonly needed: boolean
  /** Who takes the token; `null` when nothing is approved, as for the native currency. */
  readonly spender: string | null
  /** Base units of the sold asset. Never more than the swap takes. */
  readonly amount: string
  /** The token refuses to change an allowance that is not 0: it is set to 0 first. */
  readonly resetFirst: boolean
}

/** Why the swap would not succeed now, or may not be wanted. `null`: no such issue. Amounts are base units. */
export type SwapIssues = {
  readonly allowance: { readonly spender: string; readonly actual: string; readonly needed: string } | null
  readonly balance: Shortfall | null
  /** The swap was executed in a simulation with its approvals and failed, or was not simulated as it would be sent. */
  readonly simulation: { readonly code: SimulationIssue; readonly reason: string } | null
  readonly priceImpact: { readonly priceImpactBps: number } | null
  /** The price of the route differs from another one, or nothing can be compared with it. */
  readonly price: PriceIssue | null
}

export const PRICE_ISSUES = ['differs_from_feeds', 'pools_disagree', 'pools_unanswered', 'no_feed'] as const

export type PriceIssue = {
  readonly code: (typeof PRICE_ISSUES)[number]
  /** By how much, in hundredths of a percent; `null` where nothing can be compared. */
  readonly differenceBps: number | null
  readonly reason: string
}

export type SimulationIssue = 'reverted' | 'insufficient_balance' | 'could_not_simulate' | 'simulated_with_code'

export type Shortfall = { readonly symbol: string; readonly decimals: number } & {
  readonly actual: string
  readonly needed: string
}

/** With the part that a swap records. */
export type SwapQuote = Swap['quote'] & {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly chainId: number
  readonly approval: Approval
  /** Expected gas, of all approvals together and of the swap. `gasReserve` says what to hold. */
  readonly gas: { readonly approval: string; readonly swap: string }
  /** Wei per gas: what it is expected to cost, and the most it may. */
  readonly gasPrice: { readonly expected: string; readonly max: string }
  readonly issues: SwapIssues
  /** Of a hosted route: the tokens that it must not move when it is asked again. */
  readonly otherTokens?: readonly string[]
  readonly expiresAt: string
  /** Makes the ids of equal quotes differ. */
  readonly salt: string
}

/**
 * The id of a quote with this content: 122 bits of a SHA-256 in the form of every id, whose pattern the API publishes. It
 * contains no time.
 */
export function quoteIdOf(content: Omit<SwapQuote, 'quoteId'>): string {
  const hex = createHash('sha256').update(canonicalJson(content)).digest('hex')
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0b11) | 0b1000).toString(16)
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `7${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`]
  return `${swaps.ids.quote}_${[...parts, hex.slice(20, 32)].join('-')}`
}

/**
 * Gas to hold for a call whose expected gas, after refunds, is known: half as much again of what it can need before them. A
 * fifth is refunded at most (EIP-3529), at the end. A swap may cross more ticks than when it was quoted, and the first one
 * of a pair in a block writes its prices.
 */
export function gasReserve(expected: bigint): bigint {
  return (expected * 5n * 3n) / (4n * 2n)
}
