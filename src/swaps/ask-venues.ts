/**
 * Asks every exchange of a chain for a swap, all at one block, in three round trips: the newest block (and the factories
 * for pools that are not known yet), the state of the pools and of the wallet, and the quotes of living pools.
 *
 * Invariant: every amount and price of one answer is of one block hash, whatever blocks come meanwhile (EIP-1898).
 */

import { type BlockRef, HEAD_REQUEST, headOf } from '../chain/blocks.ts'
import { GAS_BOUNDS } from '../chain/forks.ts'
import { wordAt } from '../chain/hex.ts'
import type { RpcReader } from '../chain/json-rpc.ts'
import { type BlockTag, boundedReads, type CallReturn, type ContractCall } from '../chain/multicall.ts'
import {
  encodeAllowance,
  READ_LIQUIDITY,
  READ_RESERVES,
  READ_SLOT0,
  reservesOf,
  sqrtPriceOf,
} from '../chain/swap-reads.ts'
import { squareRoot } from '../core/money.ts'
import { candidatesOf, type LivingPool } from './candidates.ts'
import type { AmountType } from './events.ts'
import { type Market, type Pair, pairsOf } from './market.ts'
import type { Pool, PoolBook } from './pools.ts'
import { partsOf, type QuotedPath, questionsOf, readAnswers } from './quote-paths.ts'

export type AskPorts = {
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
}

export type VenueAnswers = {
  readonly block: BlockRef
  readonly pools: readonly LivingPool[]
  readonly quotes: readonly QuotedPath[]
  /** Whether there was a path to ask for: without quotes, its pools cannot exchange the whole amount. */
  readonly asked: boolean
  /** What each router may take of the sold token, base units. */
  readonly allowances: ReadonlyMap<string, bigint>
}

/** A read of a pool takes a few thousand gas. */
const STATES_PER_CALL = 100
/** A quote takes about 100,000 gas for each hop, one that finds no end of the liquidity 3.3 million. */
const QUOTES_PER_CALL = 12

const Q192 = 1n << 192n

/** @throws Unavailable when no node answered, ChainRefused when none has the state of the block */
export async function askVenues(ports: AskPorts, question: Question): Promise<VenueAnswers> {
  const { market } = ports
  const block = await learnPools(ports, pairsOf(market, question.pair))
  const tag = { blockHash: block.hash }
  const { pools, allowances } = await readStates(ports, question, tag)
  const asked = partsOf(candidatesOf(market, pools, question.pair), question)
  const exactOutput = question.amountType === 'exact_output'
  const returns = await read(ports, questionsOf(asked, exactOutput), tag, QUOTES_PER_CALL)
  return { block, pools, allowances, asked: asked.length > 0, quotes: readAnswers(asked, returns, exactOutput) }
}

/** The newest block. Pools that are not remembered are looked up in the same round trip. */
async function learnPools({ client, multicall3, market, pools }: AskPorts, pairs: readonly Pair[]): Promise<BlockRef> {
  const { calls, keep } = pools.lookup(market, pairs)
  const lookup = boundedReads(multicall3, calls, { tag: 'latest', gas: GAS_BOUNDS.manyReads, perCall: STATES_PER_CALL })
  const [head, ...results] = await client.batch([HEAD_REQUEST, ...lookup.requests])
  const { number, hash } = headOf(head)
  keep(lookup.returns(results))
  return { number, hash }
}

async function readStates(ports: AskPorts, { pair, owner }: Question, tag: BlockTag) {
  const { market } = ports
  const known = ports.pools.poolsOf(market, pairsOf(market, pair))
  const routers = owner === null ? [] : [...new Set(market.venues.map(({ router }) => router))]
  const reads = [
    ...known.flatMap(stateCalls),
    ...routers.map((router) => ({ target: pair[0], data: encodeAllowance(owner ?? '', router) })),
  ]
  const returns = await read(ports, reads, tag, STATES_PER_CALL)
  let next = 0
  const pools = known.flatMap((pool) => {
    const count = stateCalls(pool).length
    next += count
    return livingPool(pool, returns.slice(next - count, next)) ?? []
  })
  const allowances = new Map(
    routers.map((router, i) => {
      const data = returns[next + i] ?? null
      return [router, data === null ? 0n : (wordAt(data, 0) ?? 0n)]
    }),
  )
  return { pools, allowances }
}

function stateCalls({ venue, address }: Pool): readonly ContractCall[] {
  return (venue.kind === 'v2' ? [READ_RESERVES] : [READ_SLOT0, READ_LIQUIDITY]).map((data) => ({
    target: address,
    data,
  }))
}

/** `null` when the pool has no price or no liquidity at it. */
function livingPool(pool: Pool, [first = null, second = null]: readonly CallReturn[]): LivingPool | null {
  if (pool.venue.kind === 'v2') {
    const reserves = reservesOf(first)
    if (reserves === null) return null
    const [a, b] = reserves
    return { ...pool, price: { in: a, out: b }, depth: squareRoot(a * b) }
  }
  const price = sqrtPriceOf(first)
  const depth = second === null ? null : wordAt(second, 0)
  if (price === null || depth === null || depth === 0n) return null
  return { ...pool, price: { in: Q192, out: price * price }, depth }
}

async function read(
  { client, multicall3 }: AskPorts,
  calls: readonly ContractCall[],
  tag: BlockTag,
  perCall: number,
): Promise<CallReturn[]> {
  if (calls.length === 0) return []
  const reads = boundedReads(multicall3, calls, { tag, gas: GAS_BOUNDS.manyReads, perCall })
  return reads.returns(await client.batch(reads.requests))
}
