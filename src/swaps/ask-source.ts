/**
 * The hosted source beside the exchanges: it is asked while they are, and its offer is taken only if it is proven to be
 * better. Whatever it answers, or does not, the quote of the exchanges stands.
 */

import type { RpcReader } from '../chain/json-rpc.ts'
import type { Asset } from '../core/assets.ts'
import { BursarError } from '../core/errors.ts'
import { EXECUTOR_ADDRESS } from './contracts/guard.ts'
import type { SwapTerms } from './events.ts'
import type { SourceSettings } from './exchange-settings.ts'
import type { FoundRoutes } from './find-route.ts'
import { judgeOffer } from './judge-offer.ts'
import type { QuoteSource, SourceAnswer, SourceOffer } from './quote-source.ts'
import type { TriedRoute } from './try-routes.ts'

/** A source of offers, with what decides whether it is asked and its offer taken. */
export type HostedSource = {
  readonly source: QuoteSource
  /** Whether the guard of the chain and its executor have their code now. Never throws. */
  readonly hasGuard: (chainId: number) => Promise<boolean>
  /** Contracts of the tokens of which the wallet has something. */
  readonly tokensOf: (walletId: string) => Promise<readonly string[]>
  /** @param outcome `chosen`, or why its answer was not taken */
  readonly onAnswer: (outcome: string) => void
}

export type HostedSwap = {
  readonly wallet: { readonly id: string; readonly address: string; readonly chainId: number }
  readonly from: Asset
  readonly to: Asset
  /** Base units. */
  readonly amount: bigint
  readonly terms: SwapTerms
  /** Base units that the wallet may spend of the sold asset. */
  readonly available: bigint
  /** The wrapped native token. */
  readonly wrapped: string
  /** `undefined` where no contract is pinned. */
  readonly pins: SourceSettings | undefined
}

export type AskedSource = { readonly pins: SourceSettings; readonly answer: SourceAnswer }

/** A route that replaces that of the exchanges. */
export type TakenOffer = {
  readonly found: FoundRoutes
  readonly tried: TriedRoute
  /** Tokens that the route must not move. */
  readonly otherTokens: readonly string[]
}

/** Read by a simulation beside the two that are exchanged. */
const MAX_OTHER_TOKENS = 30

/** @returns `null` when there is nothing to ask: it is off, or its offer could not be taken */
export async function askSource({ source, hasGuard }: HostedSource, swap: HostedSwap): Promise<AskedSource | null> {
  const { pins, terms, from, to, amount, wallet, wrapped } = swap
  const isWrap = (from.contract ?? wrapped) === (to.contract ?? wrapped)
  if (pins === undefined || isWrap || terms.amountType !== 'exact_input' || swap.available < amount) return null
  const [sold, bought] = [from.contract, to.contract]
  const { address, chainId } = wallet
  const { slippageBps } = terms
  // Without a guard nothing on chain would enforce the minimum.
  if (!(await hasGuard(chainId))) return null
  const question = { chainId, sold, bought, amount, taker: EXECUTOR_ADDRESS, wallet: address, slippageBps }
  return { pins, answer: await source.ask(question) }
}

export type Rivals = AskedSource & {
  readonly found: FoundRoutes
  /** The best route through pools. */
  readonly tried: TriedRoute
  /** Wei per gas. */
  readonly gasPrice: bigint
}

/** @returns `null` when the exchanges keep the quote */
export async function takeOffer(
  hosted: HostedSource,
  client: RpcReader,
  swap: HostedSwap,
  rivals: Rivals,
): Promise<TakenOffer | null> {
  const { answer } = rivals
  const judged =
    'offer' in answer ? await judge(hosted, client, swap, { ...rivals, offer: answer.offer }) : answer.outcome
  hosted.onAnswer(typeof judged === 'string' ? judged : 'chosen')
  return typeof judged === 'string' ? null : judged
}

async function judge(
  { source, tokensOf }: HostedSource,
  client: RpcReader,
  { wallet, from, to, terms, amount }: HostedSwap,
  { offer, found, tried: own, pins, gasPrice }: Rivals & { readonly offer: SourceOffer },
): Promise<TakenOffer | string> {
  const held = await tokensOf(wallet.id)
  const others = held.filter((token) => token !== from.contract && token !== to.contract)
  if (others.length > MAX_OTHER_TOKENS) return 'too_many_tokens'
  try {
    const trying = { wallet: wallet.address, from, to, terms, others }
    const judging = { source: source.name, offer, amount, pins, found, own, gasPrice }
    const judgement = await judgeOffer(client, trying, judging)
    if ('refusal' in judgement) return judgement.refusal
    return {
      found: { ...found, allowances: judgement.allowances },
      tried: judgement.taken,
      otherTokens: others,
    }
  } catch (error) {
    if (!(error instanceof BursarError)) throw error
    return 'rehearsal_failed'
  }
}
