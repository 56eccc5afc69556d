/**
 * Questions to pools of exchanges, many in one `eth_call` without an address: PoolReads.sol runs as its data. Each
 * question has its own gas limit, so a pool that burns gas costs the others nothing. Amounts are base units.
 */
import { readFileSync } from 'node:fs'
import { GAS_BOUNDS } from '../../chain/forks.ts'
import { addressWord, readData, toQuantity, uintWord, wordAt } from '../../chain/hex.ts'
import { type RpcRequest, type RpcResult, resultValue } from '../../chain/json-rpc.ts'
import { type BlockTag, blockParam } from '../../chain/multicall.ts'
import { classifyCallFailure } from '../../chain/rpc-errors.ts'

export type AskedPool = {
  /** QuoterV2; `null` for a V2 pair, whose reserves say everything. */
  readonly quoter: string | null
  readonly pool: string
  readonly from: string
  readonly to: string
  readonly feePpm: number
  /** Pools of stage 1 are asked for the best answers of those of stage 0. */
  readonly stage: 0 | 1
}

export type PoolQuestion = {
  readonly pools: readonly AskedPool[]
  /** The amounts that go in, or out for an exact output: ascending, below 2^128. */
  readonly amounts: readonly bigint[]
  readonly exactOutput: boolean
  /** Gas of one question. */
  readonly gas: bigint
}

/** `other` is what goes out, or in for an exact output; `null` where the pool cannot exchange the amount. */
export type PoolPoint = { readonly amount: bigint; readonly other: bigint | null }

export type PoolAnswer = {
  /** `spent`: a question used up its gas. `unasked`: not every question was asked, for lack of gas in the whole call. */
  readonly outcome: 'answered' | 'spent' | 'unasked'
  /** The square root of the price of a V3 pool, or the reserves of a V2 pair; zeros where it has nothing to give. */
  readonly state: readonly [bigint, bigint]
  /** For the amounts, and for some between them where a V3 pool bends. */
  readonly points: readonly PoolPoint[]
}

/** Their result can be returned with the gas that PoolReads.sol reserves, and is below the size limit of code. */
export const MAX_POOLS_PER_CALL = 60

const POINTS = 9
const WIDTH = 1 + POINTS
/** Words before the amounts: two numbers and two places. */
const HEAD_WORDS = 4
const WORD_BYTES = 32
const RESERVE_BITS = 112n
const OUTCOME_BITS = 248n

/** The code of PoolReads.sol, which is never deployed. Loaded once at process start. */
const READER_CODE = readCode()

export function poolRequest({ pools, amounts, exactOutput, gas }: PoolQuestion, tag: BlockTag): RpcRequest {
  const second = (HEAD_WORDS + 1 + amounts.length) * WORD_BYTES
  const words = [
    ...[gas, exactOutput ? 1n : 0n, BigInt(HEAD_WORDS * WORD_BYTES), BigInt(second)].map(uintWord),
    ...[BigInt(amounts.length), ...amounts].map(uintWord),
    uintWord(BigInt(pools.length)),
    ...pools.map(({ quoter, pool, from, to, feePpm, stage }) =>
      [
        ...[quoter ?? '0x', pool, from, to].map(addressWord),
        ...[feePpm, stage].map((number) => uintWord(BigInt(number))),
      ].join(''),
    ),
  ]
  const call = { data: READER_CODE + words.join(''), gas: toQuantity(GAS_BOUNDS.manyReads) }
  return { method: 'eth_call', params: [call, blockParam(tag)] }
}

/**
 * @returns an answer for each pool; all `unasked` when the node did not make the whole call
 * @throws ChainRefused when the node lacks the state of the block, or refuses such calls
 */
export function poolAnswers({ pools }: PoolQuestion, result: RpcResult | undefined): readonly PoolAnswer[] {
  const data = isOutOfReach(result) ? '0x' : readData(resultValue(result, 'eth_call'), 'the answer to eth_call')
  if (data.length !== 2 + pools.length * WIDTH * WORD_BYTES * 2) return pools.map(() => UNASKED)
  return pools.map(({ quoter }, i) => {
    const word = (place: number) => wordAt(data, i * WIDTH + place) ?? 0n
    const state = BigInt.asUintN(Number(OUTCOME_BITS), word(0))
    const points = Array.from({ length: POINTS }, (_, k) => word(1 + k)).filter((point) => point !== 0n)
    return {
      outcome: OUTCOMES[Number(word(0) >> OUTCOME_BITS)] ?? 'unasked',
      state: quoter === null ? [state >> RESERVE_BITS, BigInt.asUintN(Number(RESERVE_BITS), state)] : [state, 0n],
      points: points.map((point) => ({ amount: point >> 128n, other: BigInt.asUintN(128, point) || null })),
    }
  })
}

export const UNASKED: PoolAnswer = { outcome: 'unasked', state: [0n, 0n], points: [] }
const OUTCOMES = ['answered', 'spent', 'unasked'] as const

/** No node made the whole call, as when it allows less gas or time: each pool may still answer alone. */
function isOutOfReach(result: RpcResult | undefined): boolean {
  if (result?.ok !== false) return false
  return result.error.kind === 'unavailable' || classifyCallFailure(result.error).type === 'reverted'
}

function readCode(): string {
  const file = new URL('../../contracts/artifacts/PoolReads.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly bytecode: string }).bytecode
}
