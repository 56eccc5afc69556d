/**
 * What every pool of a quote gives for the amount and for parts of it, at one block. Each question has its own gas limit.
 * A pool that used it up, or was not asked because others had, is asked again alone, with all the gas of a transaction.
 */

import type { RpcReader, RpcRequest } from '../chain/json-rpc.ts'
import type { BlockTag } from '../chain/multicall.ts'
import { type PoolAnswer, type PoolQuestion, poolAnswers, poolRequest, UNASKED } from './contracts/pool-reads.ts'
import { type AskedEdge, bestOf, type Edge, questionOf, readEdge, type Way } from './edges.ts'
import { POOL_GAS } from './gas-rules.ts'

export type PoolsQuestion = {
  readonly ways: readonly Way[]
  /** Base units. */
  readonly amount: bigint
  readonly exactOutput: boolean
  readonly tag: BlockTag
}

/** Pools that are asked alone in one round, so that a node is not asked for more than some blocks of work. */
const MOST_ALONE = 24
/** The first stage may answer only when it is asked alone, and then the second may have to be. */
const ROUNDS_ALONE = 3
/** Parts of the amount that are asked for, as divisors: the whole last. */
const PARTS = [16n, 4n, 1n]

export type PoolsAsked = {
  readonly requests: readonly RpcRequest[]
  /** From the results of the requests. Asks again alone what did not answer. @throws ChainRefused */
  readonly edges: (client: RpcReader, results: Awaited<ReturnType<RpcReader['batch']>>) => Promise<readonly AskedEdge[]>
}

/** The requests, for a batch with others. */
export function askPools({ ways, amount, exactOutput, tag }: PoolsQuestion): PoolsAsked {
  const amounts = [...new Set(PARTS.map((part) => amount / part))].filter((part) => part > 0n)
  const asking = { exactOutput, amounts }
  const questions = ways.map(
    (way): PoolQuestion => ({
      ...asking,
      pools: way.map((edge) => questionOf(edge, edge.stage)),
      gas: POOL_GAS.inCompany,
    }),
  )
  return {
    requests: questions.map((question) => poolRequest(question, tag)),
    async edges(client, results) {
      const told = new Map<Edge, PoolAnswer>()
      for (const [i, question] of questions.entries()) {
        const answers = poolAnswers(question, results[i])
        for (const [k, edge] of (ways[i] ?? []).entries()) told.set(edge, answers[k] ?? UNASKED)
      }
      const open = { ways, told, ended: new Set<Edge>(), tag, ...asking }
      for (let round = 0; round < ROUNDS_ALONE; round += 1) await askAlone(client, open)
      return ways.flatMap((way) => way.map((edge) => readEdge(edge, toldBy(told, edge), exactOutput)))
    },
  }
}

type Open = Pick<PoolsQuestion, 'ways' | 'tag' | 'exactOutput'> & {
  readonly amounts: readonly bigint[]
  readonly told: Map<Edge, PoolAnswer>
  /** Those that used up all the gas that there is. */
  readonly ended: Set<Edge>
}

function toldBy(told: ReadonlyMap<Edge, PoolAnswer>, edge: Edge): PoolAnswer {
  return told.get(edge) ?? UNASKED
}

/** Asks those that have not answered, each in a call of its own. */
async function askAlone(client: RpcReader, open: Open): Promise<void> {
  const asking = open.ways.flatMap((way) => openIn(way, open)).slice(0, MOST_ALONE)
  if (asking.length === 0) return
  const results = await client.batch(asking.map(({ question }) => poolRequest(question, open.tag)))
  for (const [i, { edge, question }] of asking.entries()) {
    const [answer = UNASKED] = poolAnswers(question, results[i])
    open.told.set(edge, { ...answer, points: [...toldBy(open.told, edge).points, ...answer.points] })
    if (question.gas === POOL_GAS.alone) open.ended.add(edge)
  }
}

function openIn(way: Way, { told, ended, exactOutput, amounts }: Open) {
  const first = way.filter(({ stage }) => stage === 0).map((edge) => toldBy(told, edge))
  const second = bestOf(first, amounts, exactOutput).filter((amount) => amount > 0n)
  return way.flatMap((edge) => {
    const { outcome, state, points } = toldBy(told, edge)
    const wanted = edge.stage === 0 ? amounts : second
    const isSpent = outcome === 'spent'
    // Of the second stage also one that there was nothing to ask for before.
    const isLate = outcome === 'unasked' || (points.length === 0 && state[0] !== 0n)
    if (ended.has(edge) || !(isSpent || isLate) || wanted.length === 0) return []
    const question: PoolQuestion = {
      pools: [questionOf(edge, 0)],
      // With all the gas, only one can be asked.
      amounts: isSpent ? wanted.slice(-1) : wanted,
      exactOutput,
      gas: isSpent ? POOL_GAS.alone : POOL_GAS.later,
    }
    return [{ edge, question }]
  })
}
