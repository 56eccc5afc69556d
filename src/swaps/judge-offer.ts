/**
 * Whether the offer of a hosted source is taken. Its call data is not understood, so it is judged by what it does: it
 * is executed through the guard in a simulation, and must keep our minimum, take no more than the amount, and move nothing
 * else. It must also be better than the best route through pools, net of gas.
 */
import { readQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { blockParam } from '../chain/multicall.ts'
import { smallest } from '../core/money.ts'
import { minimumOut } from './bounds.ts'
import { costOfGas } from './choose.ts'
import { encodeAllowance } from './contracts/exchange-reads.ts'
import { GUARD_ADDRESS } from './contracts/guard.ts'
import type { HostedRoute, SourceName } from './events.ts'
import type { SourceSettings } from './exchange-settings.ts'
import type { FoundRoutes } from './find-route.ts'
import { priceImpactBps } from './impact.ts'
import type { SourceOffer } from './quote-source.ts'
import type { RehearsalOutcome } from './rehearse-swap.ts'
import { amountsOf } from './route.ts'
import { rehearseRoute, type SwapToTry, type TriedRoute } from './try-routes.ts'

export type OfferToJudge = {
  readonly source: SourceName
  readonly offer: SourceOffer
  /** Base units that are sold. */
  readonly amount: bigint
  readonly pins: SourceSettings
  readonly found: FoundRoutes
  /** The best route through pools. */
  readonly own: TriedRoute
  /** Wei per gas. */
  readonly gasPrice: bigint
}

/** Why an offer is not taken: the label of a metric. */
export type Refusal =
  | 'target_not_pinned'
  | 'spender_not_pinned'
  | 'wrong_amount'
  | 'wrong_value'
  | 'rehearsal_failed'
  | 'takes_more'
  | 'gives_less'
  | 'minimum_too_low'
  | 'price_impact'
  | 'worse'

export type Judgement =
  | { readonly taken: TriedRoute; readonly allowances: FoundRoutes['allowances'] }
  | { readonly refusal: Refusal }

/** @throws Unavailable or ChainRefused when the allowance cannot be read */
export async function judgeOffer(client: RpcReader, swap: SwapToTry, judging: OfferToJudge): Promise<Judgement> {
  const { found, offer, source, amount } = judging
  const mistake = mistakeOf(swap, judging)
  if (mistake !== null) return { refusal: mistake }
  const [sold, bought] = [swap.from.contract, swap.to.contract]
  const spender = sold === null ? null : offer.spender
  const allowances = sold === null ? found.allowances : await withAllowance(client, swap, found, GUARD_ADDRESS)
  const { contract, data, value } = offer
  const route = (amountOut: bigint): HostedRoute => ({
    type: 'hosted',
    source,
    guard: { address: GUARD_ADDRESS, sold, bought },
    contract,
    spender,
    data,
    value: value.toString(),
    amountIn: amount.toString(),
    amountOut: amountOut.toString(),
    limit: minimumOut(amountOut, swap.terms.slippageBps).toString(),
  })
  const outcome = await rehearseRoute(client, swap, { ...found, allowances }, route(offer.amountOut))
  if (outcome.type !== 'swapped') return { refusal: 'rehearsal_failed' }
  // Never more than was offered, so that a price that has improved meanwhile does not raise our minimum above theirs.
  const least = route(smallest(outcome.received, offer.amountOut))
  const impact = impactOf(found, amountsOf(least))
  const refusal = refusalOf(swap, judging, { least, outcome, impact })
  if (refusal !== null) return { refusal }
  return {
    allowances,
    taken: {
      outcome,
      found: { route: least, legs: [], gas: outcome.gas.swap, priceImpactBps: impact ?? 0, lpFeeBps: 0 },
    },
  }
}

/** What is wrong with an offer before anything is executed. */
function mistakeOf({ from }: SwapToTry, { offer, amount, pins }: OfferToJudge): Refusal | null {
  const isNative = from.contract === null
  if (!pins.targets.includes(offer.contract)) return 'target_not_pinned'
  if (!isNative && (offer.spender === null || !pins.spenders.includes(offer.spender))) return 'spender_not_pinned'
  if (offer.amountIn !== amount || offer.amountOut === 0n) return 'wrong_amount'
  return offer.value === (isNative ? amount : 0n) ? null : 'wrong_value'
}

type Swapped = Extract<RehearsalOutcome, { readonly type: 'swapped' }>
type Rehearsed = { readonly least: HostedRoute; readonly outcome: Swapped; readonly impact: number | null }

function refusalOf(
  { terms }: SwapToTry,
  { offer, amount, own, found, gasPrice }: OfferToJudge,
  { least, outcome, impact }: Rehearsed,
): Refusal | null {
  if (outcome.paid > amount) return 'takes_more'
  if (outcome.received < minimumOut(offer.amountOut, terms.slippageBps) || outcome.received <= 0n) return 'gives_less'
  // The guard enforces ours; one that promises less would only fail.
  if (offer.minimumOut < BigInt(least.limit)) return 'minimum_too_low'
  if (impact === null || impact > terms.maxPriceImpactBps) return 'price_impact'
  if (own.outcome.type !== 'swapped') return null
  const { gasValue } = found
  const net = (amountOut: bigint, { approval, swap }: Swapped['gas']) =>
    amountOut - costOfGas(approval + swap, { gasPrice, gasValue })
  const ours = net(amountsOf(own.found.route).amountOut, own.outcome.gas)
  return net(BigInt(least.amountOut), outcome.gas) > ours ? null : 'worse'
}

/** Against the pools of the best route before the swap, fees included: what the source pays as fees is not known. */
function impactOf(
  { routes: [{ legs }] }: FoundRoutes,
  amounts: { readonly amountIn: bigint; readonly amountOut: bigint },
): number | null {
  const [leg] = legs
  if (leg === undefined) return null
  return priceImpactBps([{ hops: leg.hops.map(({ price }) => ({ price, feePpm: 0 })), ...amounts }])
}

async function withAllowance(
  client: RpcReader,
  { wallet, from }: SwapToTry,
  { block, allowances }: FoundRoutes,
  spender: string,
): Promise<FoundRoutes['allowances']> {
  if (allowances.has(spender)) return allowances
  const call = { to: from.contract, data: encodeAllowance(wallet, spender) }
  const answer = await rpcCall(client, 'eth_call', [call, blockParam({ blockHash: block.hash })])
  return new Map([...allowances, [spender, readQuantity(answer, 'an allowance')]])
}
