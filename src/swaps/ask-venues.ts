/**
 * Asks every exchange of a chain for a swap, all at one block, in three round trips: the newest block (and the factories
 * for pools that are not known yet), what each pool gives for the amount and for parts of it (and the allowances), and the
 * quotes of the planned routes. What failed in company is asked again alone, in further ones.
 *
 * Invariant: every amount and price of one answer is of one block hash, whatever blocks come meanwhile (EIP-1898).
 */

import { type BlockRef, HEAD_REQUEST, headOf } from '../chain/blocks.ts'
import { GAS_BOUNDS } from '../chain/forks.ts'
import { wordAt } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type BlockTag, boundedReads, type CallReturn } from '../chain/multicall.ts'
import { askPools } from './ask-pools.ts'
import { candidatesOf, hasPath, type PlannedPath } from './candidates.ts'
import type { QuotedRoute } from './choose.ts'
import { encodeAllowance } from './contracts/exchange-reads.ts'
import { waysOf } from './edges.ts'
import type { AmountType } from './events.ts'
import { type Market, type Pair, pairsOf } from './market.ts'
import { type Planning, plansOf, type RoutePlan } from './plan-routes.ts'
import type { PoolBook } from './pools.ts'
import { type Asked, type QuotedPath, questionsOf, readAnswers } from './quote-paths.ts'

/** The exchanges of a chain, and what they are read with. */
export type Venues = {
  /** Pools and tokens are third-party contracts: never the client of Bursar's own reads. */
  readonly client: RpcReader
  readonly multicall3: string | null
  readonly market: Market
  readonly pools: PoolBook
}

export type Question = {
  /** Contracts; the wrapped token for the native currency. */
  readonly pair: Pair
  readonly amountType: AmountType
  /** Base units, of the first or the second token of the pair. */
  readonly amount: bigint
  /** Whose allowances are read; `null` when the wallet sells the native currency. */
  readonly owner: string | null
  readonly costOf: Planning['costOf']
}

export type VenueAnswers = {
  readonly block: BlockRef
  readonly routes: readonly QuotedRoute[]
  /** The most that any path gives for one base unit, if only a part of the amount takes it. */
  readonly bestRate: number
  /** Whether there was a path to ask for. */
  readonly hasPath: boolean
  /** Whether every candidate answered, also that it cannot exchange the amount. */
  readonly isComplete: boolean
  /** What each router may take of the sold token, base units. */
  readonly allowances: ReadonlyMap<string, bigint>
}

/** A look into a factory takes a few thousand gas. */
const LOOKUPS_PER_CALL = 100
/** A quote takes about 100,000 gas for each hop. */
const QUOTES_PER_CALL = 12
/** The smallest part of the amount that pools are asked for, as a divisor. */
const SMALL_PART = 16

/** @throws Unavailable when no node answered, ChainRefused when none has the state of the block */
export async function askVenues(venues: Venues, question: Question): Promise<VenueAnswers> {
  const { market } = venues
  const { pair, amountType } = question
  const block = await learnPools(venues, pairsOf(market, pair))
  const tag = { blockHash: block.hash }
  const { edges, allowances } = await readPools(venues, question, tag)
  const candidates = candidatesOf(market, edges, pair)
  const routes = await quote(venues, plansOf(candidates, question), amountType === 'exact_output', tag)
  return {
    block,
    routes,
    allowances,
    bestRate: Math.max(0, ...candidates.map((path) => rateOf(path, question))),
    hasPath: hasPath(market, edges, pair),
    isComplete: edges.every(({ isKnown }) => isKnown),
  }
}

/** The newest block. Pools that are not remembered are looked up in the same round trip. */
async function learnPools({ client, multicall3, market, pools }: Venues, pairs: readonly Pair[]): Promise<BlockRef> {
  const { calls, keep } = pools.lookup(market, pairs)
  const lookup = boundedReads(multicall3, calls, {
    tag: 'latest',
    gas: GAS_BOUNDS.manyReads,
    perCall: LOOKUPS_PER_CALL,
  })
  const [head, ...results] = await client.batch([HEAD_REQUEST, ...lookup.requests])
  const { number, hash } = headOf(head)
  keep(lookup.returns(results))
  return { number, hash }
}

async function readPools(venues: Venues, { pair, owner, amount, amountType }: Question, tag: BlockTag) {
  const { market, multicall3, client } = venues
  const exactOutput = amountType === 'exact_output'
  const ways = waysOf(market, venues.pools.poolsOf(market, pairsOf(market, pair)), pair, exactOutput)
  const asked = askPools({ ways, amount, exactOutput, tag })
  const routers = owner === null ? [] : [...new Set(market.venues.map(({ router }) => router))]
  const reads = routers.map((router) => ({ target: pair[0], data: encodeAllowance(owner ?? '', router) }))
  const allowed = boundedReads(multicall3, reads, { tag, gas: GAS_BOUNDS.manyReads, perCall: LOOKUPS_PER_CALL })
  const requests = [...asked.requests, ...allowed.requests]
  const results = requests.length === 0 ? [] : await client.batch(requests)
  const words = allowed.returns(results.slice(asked.requests.length))
  const allowances = new Map(
    routers.map((router, i) => {
      const data = words[i] ?? null
      return [router, data === null ? 0n : (wordAt(data, 0) ?? 0n)]
    }),
  )
  return { allowances, edges: await asked.edges(client, results) }
}

/** The routes whose paths all gave their amounts. What failed beside others is asked again alone. */
async function quote(
  { client, multicall3 }: Venues,
  plans: readonly RoutePlan[],
  exactOutput: boolean,
  tag: BlockTag,
): Promise<VenueAnswers['routes']> {
  const ask = async (asked: readonly Asked[], perCall: number) => {
    const reads = boundedReads(multicall3, questionsOf(asked, exactOutput), { tag, gas: GAS_BOUNDS.manyReads, perCall })
    return reads.requests.length === 0 ? [] : reads.returns(await client.batch(reads.requests))
  }
  const asked = plans.flatMap(({ legs }) => legs)
  const returns: CallReturn[] = [...(await ask(asked, QUOTES_PER_CALL))]
  const failed = returns.flatMap((data, i) => (data === null ? [i] : []))
  const again = await ask(
    failed.flatMap((i) => asked[i] ?? []),
    1,
  )
  for (const [place, i] of failed.entries()) returns[i] = again[place] ?? null
  const answers = new Map(readAnswers(asked, returns, exactOutput).map((answer, i) => [asked[i], answer]))
  const quoted = plans.map(({ router, legs }) => ({ router, legs: legs.map((leg) => answers.get(leg) ?? null) }))
  const isWhole = (legs: readonly (QuotedPath | null)[]): legs is readonly QuotedPath[] => !legs.includes(null)
  return quoted.flatMap(({ router, legs }) => (isWhole(legs) ? [{ router, legs }] : []))
}

function rateOf(path: PlannedPath, { amount, amountType }: Question): number {
  const part = Number(amount) / SMALL_PART
  return amountType === 'exact_input' ? path.out(part) / part : part / path.in(part)
}
