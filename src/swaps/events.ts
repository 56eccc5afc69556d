/**
 * The single event of a swap: its request. What became of it is no event: it follows from its transactions (ADR 9).
 * Amounts are decimal digits in strings: base units.
 */

import type { Asset } from '../core/assets.ts'
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

export const AMOUNT_TYPES = ['exact_input', 'exact_output'] as const
/** Which of the two amounts is fixed; the other one is the result of the swap. */
export type AmountType = (typeof AMOUNT_TYPES)[number]

/** Uniswap V2 and V3, and exchanges with the same contracts. */
export type PoolKind = 'v2' | 'v3'

/** One exchange in one pool. Tokens are contracts: the wrapped token stands for the native currency. */
export type Hop = {
  readonly from: string
  readonly to: string
  readonly pool: string
  /** What the pool keeps of the amount that comes in, in millionths. */
  readonly feePpm: number
}

/** One path through pools of one kind. A split route has several legs, which share no pool. */
export type Leg = {
  readonly kind: PoolKind
  readonly hops: readonly Hop[]
  readonly amountIn: string
  readonly amountOut: string
  /** The least that comes out of an exact input, or the most that goes into an exact output. */
  readonly limit: string
}

/** A route through pools: one transaction of one router. */
export type PoolRoute = {
  readonly type: 'pools'
  /** The name of the exchange in the settings. */
  readonly venue: string
  /** `v2`: a V2 router. `v3`: SwapRouter02, which only takes V3 legs here. It is also the spender of the allowance. */
  readonly router: { readonly kind: PoolKind; readonly address: string }
  readonly amountType: AmountType
  /** Which end of the swap is the native currency: the router wraps or unwraps it. */
  readonly native: 'in' | 'out' | null
  readonly legs: readonly Leg[]
}

/** The native currency to its wrapped token or back, one to one, by the token's own contract. */
export type WrapRoute = { readonly type: 'wrap' | 'unwrap'; readonly contract: string; readonly amount: string }

export type SourceName = '0x'

/** Call data of a hosted source, which is opaque: the guard makes it keep `limit`. */
export type HostedRoute = {
  readonly type: 'hosted'
  readonly source: SourceName
  /**
   * What the wallet calls, and the contracts of the assets that it exchanges, `null` for the native currency; missing in
   * events of versions in which the wallet itself called `contract`.
   */
  readonly guard?: { readonly address: string; readonly sold: string | null; readonly bought: string | null }
  /** The contract that gets the call data. */
  readonly contract: string
  /** Who takes the sold token for it; `null` for the native currency. */
  readonly spender: string | null
  readonly data: string
  /** Wei. */
  readonly value: string
  readonly amountIn: string
  readonly amountOut: string
  /** The least that comes out: it is always an exact input. */
  readonly limit: string
}

export type Route = PoolRoute | WrapRoute | HostedRoute

/** What the caller asked, with the defaults filled in. */
export type SwapTerms = {
  readonly amountType: AmountType
  readonly slippageBps: number
  readonly maxPriceImpactBps: number
  /** From acceptance to the last second in which a block may contain the swap. */
  readonly deadlineSeconds: number
}

export type Swap = {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  /** What the swap was accepted on, with its route. */
  readonly quote: {
    readonly quoteId: string
    readonly fromAsset: Asset
    readonly toAsset: Asset
    readonly terms: SwapTerms
    readonly route: Route
    readonly priceImpactBps: number
    readonly lpFeeBps: number
    /** What the swap loses at the prices of the feeds; negative for a gain. `null` without a price of both. */
    readonly valueDifferenceBps: number | null
    /** All amounts are of this block. */
    readonly block: { readonly number: number; readonly hash: string }
    readonly quotedAt: string
  }
  /** The contract that takes the sold token; `null` for the native currency and for unwrapping. */
  readonly spender: string | null
  /** The number of this wallet's swap of this token through this spender, from 1: each begins after the end of the last. */
  readonly sequence: number | null
  /** Transactions that set the allowance, in order. */
  readonly approvalIds: readonly string[]
  readonly transactionId: string
  /** The last second in which a block may contain the swap. */
  readonly deadline: string
  readonly requestedAt: string
}

export type SwapRecorded = Event<'SwapRecorded', Swap>
export type SwapEvent = SwapRecorded
