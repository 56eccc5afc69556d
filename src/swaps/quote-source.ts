/**
 * The port of hosted sources of quotes: servers that answer with call data of their own. Nothing in an answer is
 * believed: `judge-offer.ts` decides whether it can be taken.
 */
import type { SourceName } from './events.ts'

export type SourceQuestion = {
  readonly chainId: number
  /** Contracts; `null` for the native currency. */
  readonly sold: string | null
  readonly bought: string | null
  /** Base units of the sold asset, which are all sold. */
  readonly amount: bigint
  /** The contract that makes the call: the executor of the guard. */
  readonly taker: string
  /** The wallet that receives what is bought, and sends the transaction. */
  readonly wallet: string
  readonly slippageBps: number
}

/** What a source offers. Amounts are base units, addresses EIP-55. */
export type SourceOffer = {
  readonly contract: string
  /** Who takes the sold token; `null` when the source names nobody. */
  readonly spender: string | null
  /** At most 32 KiB. */
  readonly data: string
  /** Wei. */
  readonly value: bigint
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** What its call data requires at least, as the source says. */
  readonly minimumOut: bigint
}

export type SourceAnswer = { readonly offer: SourceOffer } | { readonly outcome: NoOffer }
/** `contract_refused`: the source makes no offer to a contract. */
export type NoOffer = 'no_liquidity' | 'rate_limited' | 'unavailable' | 'invalid_answer' | 'contract_refused'

export type QuoteSource = {
  readonly name: SourceName
  /** Never throws, and answers within its time limit. */
  readonly ask: (question: SourceQuestion) => Promise<SourceAnswer>
}
