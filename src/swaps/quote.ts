/** A quote for a swap as it is stored: plain JSON, with everything that the swap needs to be what was quoted. */
import type { Network } from '../core/networks.ts'
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
  /** The swap was executed in a simulation with its approvals and failed, or could not be simulated. */
  readonly simulation: { readonly code: SimulationIssue; readonly reason: string } | null
  readonly priceImpact: { readonly priceImpactBps: number } | null
}

export type SimulationIssue = 'reverted' | 'insufficient_balance' | 'could_not_simulate'

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
}

/**
 * Gas to hold for a call whose expected gas is known: half as much again. A swap may cross more ticks than when it was
 * quoted, and a node estimates up to 28 % above what is used, since refunds come at the end.
 */
export function gasReserve(expected: bigint): bigint {
  return (expected * 3n) / 2n
}
