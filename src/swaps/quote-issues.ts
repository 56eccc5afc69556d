/** What a quote says about its approval, its gas, and what stands in its way. Pure. */
import type { GasRules } from '../chain/forks.ts'
import { type Asset, nativeAsset } from '../core/assets.ts'
import type { Network } from '../core/networks.ts'
import type { Route } from './events.ts'
import type { FoundRoute, FoundRoutes } from './find-route.ts'
import {
  type Approval,
  gasReserve,
  type Shortfall,
  type SimulationIssue,
  type SwapIssues,
  type SwapQuote,
} from './quote.ts'
import type { RehearsalOutcome } from './rehearse-swap.ts'
import { mostIn } from './route.ts'
import { allowanceFor } from './try-routes.ts'

const UNPAID = issue('insufficient_balance', 'The swap was not simulated: the wallet cannot pay the amount.')

const WITH_CODE = issue(
  'simulated_with_code',
  'No node has eth_simulateV1, so the swap was simulated with code at the address of the wallet. What a contract does only ' +
    'to callers without code was not seen. The minimum and the maximum hold nevertheless.',
)

/** Above this the caller is told about the price impact, although the swap is allowed. */
const NOTABLE_IMPACT_BPS = 100

export function approvalOf(
  route: Route,
  allowances: FoundRoutes['allowances'],
  outcome: RehearsalOutcome | null,
): Approval {
  const allowance = allowanceFor(route, allowances)
  if (allowance === null) return { needed: false, spender: null, amount: '0', resetFirst: false }
  const { spender, actual, needed } = allowance
  const resetFirst = outcome?.type === 'swapped' && outcome.resetFirst
  return { needed: actual < needed, spender, amount: needed.toString(), resetFirst }
}

/** As simulated, or as such swaps usually use. */
export function gasOf(
  found: FoundRoute,
  { needed }: Approval,
  outcome: RehearsalOutcome | null,
  rules: GasRules,
): SwapQuote['gas'] {
  const gas = outcome?.type === 'swapped' ? outcome.gas : { approval: needed ? rules.approval : 0n, swap: found.gas }
  return { approval: gas.approval.toString(), swap: gas.swap.toString() }
}

export type QuoteFacts = Pick<SwapQuote, 'gas' | 'gasPrice'> & {
  readonly chosen: FoundRoute
  readonly found: FoundRoutes
  readonly outcome: RehearsalOutcome | null
  readonly from: Asset
  readonly sender: { readonly network: Network; readonly chainId: number }
  /** Base units that the wallet may spend, of the sold asset and of the native currency. */
  readonly available: { readonly asset: bigint; readonly native: bigint }
}

export function issuesOf(facts: QuoteFacts): Omit<SwapIssues, 'price'> {
  const { chosen, found, outcome } = facts
  const { route, priceImpactBps } = chosen
  const allowance = allowanceFor(route, found.allowances)
  const { spender, actual, needed } = allowance ?? { spender: '', actual: 0n, needed: 0n }
  return {
    allowance: actual < needed ? { spender, actual: actual.toString(), needed: needed.toString() } : null,
    balance: shortfallOf(facts),
    simulation: simulationIssue(outcome),
    priceImpact: priceImpactBps > NOTABLE_IMPACT_BPS ? { priceImpactBps } : null,
  }
}

function simulationIssue(outcome: RehearsalOutcome | null): SwapIssues['simulation'] {
  if (outcome === null) return UNPAID
  if (outcome.type === 'swapped') return outcome.hasCode ? WITH_CODE : null
  return issue(outcome.type === 'reverted' ? 'reverted' : 'could_not_simulate', outcome.reason)
}

function issue(code: SimulationIssue, reason: string) {
  return { code, reason }
}

/** What the wallet lacks: of the sold asset first, then of the native currency for gas. */
function shortfallOf({ chosen, from, available, gas, gasPrice, sender }: QuoteFacts): Shortfall | null {
  const fee = (gasReserve(BigInt(gas.approval)) + gasReserve(BigInt(gas.swap))) * BigInt(gasPrice.max)
  const amount = mostIn(chosen.route)
  const isNative = from.contract === null
  const needed = isNative ? amount + fee : amount
  if (available.asset < needed) return shortfall(from, available.asset, needed)
  if (isNative || available.native >= fee) return null
  return shortfall(nativeAsset(sender.network, sender.chainId), available.native, fee)
}

function shortfall({ symbol, decimals }: Asset, actual: bigint, needed: bigint): Shortfall {
  return { symbol, decimals, actual: actual.toString(), needed: needed.toString() }
}
