/** The questions to the exchanges about the paths of planned routes, and their answers. Pure. */
import type { CallReturn, ContractCall } from '../chain/multicall.ts'
import type { Candidate } from './candidates.ts'
import { encodeV2Quote, encodeV3Quote, v2QuoteOf, v3QuoteOf } from './contracts/exchange-reads.ts'

/** One question: an amount of one path. */
export type Asked = { readonly candidate: Candidate; readonly amount: bigint }

/** An answer. The fixed amount is exactly what was asked, base units. */
export type QuotedPath = Candidate & {
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** Gas of the swap in the pools, as the quoter measured it; `null` for V2. */
  readonly quotedGas: bigint | null
}

export function questionsOf(asked: readonly Asked[], exactOutput: boolean): readonly ContractCall[] {
  return asked.map(({ candidate: { venue, hops }, amount }) => ({
    target: venue.quoter,
    data:
      venue.kind === 'v3'
        ? encodeV3Quote(hops, amount, exactOutput)
        : encodeV2Quote(tokensOf(hops), amount, exactOutput),
  }))
}

/**
 * The quotes, in the order of the questions; `null` for none. That is also a path whose pools can take a part of the
 * amount only, although QuoterV2 quotes the part.
 */
export function readAnswers(
  asked: readonly Asked[],
  returns: readonly CallReturn[],
  exactOutput: boolean,
): readonly (QuotedPath | null)[] {
  return asked.map(({ candidate: { venue, hops }, amount }, i) => {
    const data = returns[i] ?? null
    const { amount: other, gas } =
      venue.kind === 'v2'
        ? { amount: v2QuoteOf(data, hops.length + 1, exactOutput), gas: null }
        : (v3QuoteOf(data) ?? { amount: null, gas: null })
    if (other === null) return null
    const amounts = exactOutput ? { amountIn: other, amountOut: amount } : { amountIn: amount, amountOut: other }
    return { venue, hops, ...amounts, quotedGas: gas }
  })
}

function tokensOf(hops: Candidate['hops']): readonly string[] {
  return [...hops.slice(0, 1).map(({ from }) => from), ...hops.map(({ to }) => to)]
}
