/**
 * The questions to the exchanges about candidate paths, and their answers. A path that is the whole route is asked for
 * the whole amount; direct paths that one router can swap on together are also asked for quarters, so that a route can be
 * split. Pure.
 */
import type { CallReturn, ContractCall } from '../chain/multicall.ts'
import { encodeV2Quote, encodeV3Quote, v2QuoteOf, v3QuoteOf } from '../chain/swap-reads.ts'
import type { Candidate } from './candidates.ts'
import type { AmountType } from './events.ts'
import { jointVenue } from './market.ts'

/** One question: an amount of one path. */
export type Asked = { readonly candidate: Candidate; readonly amount: bigint }

/** An answer. The fixed amount is exactly what was asked, base units. */
export type QuotedPath = Candidate & {
  readonly amountIn: bigint
  readonly amountOut: bigint
  /** Gas of the swap in the pools, as the quoter measured it; `null` for V2. */
  readonly quotedGas: bigint | null
}

/** A path is asked for the whole amount first. */
export function partsOf(
  candidates: readonly Candidate[],
  { amount, amountType }: { readonly amount: bigint; readonly amountType: AmountType },
): readonly Asked[] {
  return candidates.flatMap((candidate) => {
    const parts = canSplit(candidate, candidates, amountType) ? quartersOf(amount) : []
    return [...new Set([amount, ...parts])].map((part) => ({ candidate, amount: part }))
  })
}

/** A quarter, a half and their complements: two of them always add up to the whole amount. */
function quartersOf(amount: bigint): readonly bigint[] {
  return [amount / 4n, amount / 2n].flatMap((part) => (part === 0n ? [] : [part, amount - part]))
}

/** A split is one transaction of one router, and only direct paths surely share no pool. */
function canSplit(candidate: Candidate, all: readonly Candidate[], amountType: AmountType): boolean {
  const { venue, hops } = candidate
  const fits = (other: Candidate) =>
    other !== candidate && other.hops.length === 1 && jointVenue(venue, other.venue, amountType) !== null
  return hops.length === 1 && all.some(fits)
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

/** The quotes. A path whose pools can take a part of the amount only is left out, although QuoterV2 quotes the part. */
export function readAnswers(
  asked: readonly Asked[],
  returns: readonly CallReturn[],
  exactOutput: boolean,
): readonly QuotedPath[] {
  return asked.flatMap(({ candidate, amount }, i) => {
    const data = returns[i] ?? null
    const v2 = candidate.venue.kind === 'v2'
    const { amount: other, gas } = v2
      ? { amount: v2QuoteOf(data, candidate.hops.length + 1, exactOutput), gas: null }
      : (v3QuoteOf(data) ?? { amount: null, gas: null })
    if (other === null) return []
    const amounts = exactOutput ? { amountIn: other, amountOut: amount } : { amountIn: amount, amountOut: other }
    return [{ ...candidate, ...amounts, quotedGas: gas }]
  })
}

function tokensOf(hops: Candidate['hops']): readonly string[] {
  return [...hops.slice(0, 1).map(({ from }) => from), ...hops.map(({ to }) => to)]
}
