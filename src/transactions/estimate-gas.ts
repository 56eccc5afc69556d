/**
 * How much gas calls need. A plain transfer to an account without code needs 21,000 and no question to the node; anything
 * else is simulated, and a call that would revert is told with its reason before anything is signed.
 */
import type { CodeLookup } from '../chain/code.ts'
import { readCount, toQuantity } from '../chain/hex.ts'
import { type RpcReader, type RpcResult, resultValue } from '../chain/json-rpc.ts'
import { classifyCallFailure } from '../chain/rpc-errors.ts'
import { Unavailable } from '../core/errors.ts'
import { type Call, PLAIN_TRANSFER_GAS } from './build-call.ts'

export type GasRequest = {
  readonly from: string
  readonly call: Call
  /** A block that the node must have seen: what the call builds on stands in it. */
  readonly sinceBlock?: number
}
export type GasEstimate =
  | { readonly ok: true; readonly gasLimit: bigint }
  | { readonly ok: false; readonly code: 'execution_reverted' | 'insufficient_funds'; readonly reason: string }

/** Room for state that changes between the simulation and the block: a fifth more. */
export const GAS_MARGIN_PERCENT = 120n

/** @throws Unavailable when the node does not answer, or has not seen the block of a request: nothing is known then */
export function createEstimateGas(client: RpcReader, code: CodeLookup) {
  return async (requests: readonly GasRequest[]): Promise<readonly GasEstimate[]> => {
    const plain = requests.filter(({ call }) => call.data === '0x')
    const haveCode = await code.haveCode(plain.map(({ call }) => call.to))
    const withoutCode = new Set(plain.filter((_, index) => !haveCode[index]))
    const simulated = requests.filter((request) => !withoutCode.has(request))
    const since = Math.max(0, ...simulated.map(({ sinceBlock = 0 }) => sinceBlock))
    // Asked first and in the same batch: what is simulated after it is simulated at that block or a later one.
    const head = since === 0 ? [] : [{ method: 'eth_blockNumber', params: [] }]
    const answers = await client.batch([...head, ...simulated.map(toEstimateRequest)])
    if (since > 0) requireBlock(answers[0], since)
    const estimates = new Map(simulated.map((request, index) => [request, readAnswer(answers[head.length + index])]))
    return requests.map((request) => estimates.get(request) ?? { ok: true, gasLimit: PLAIN_TRANSFER_GAS })
  }
}

function requireBlock(answer: RpcResult | undefined, block: number): void {
  if (readCount(resultValue(answer, 'eth_blockNumber'), 'a block number') >= block) return
  throw new Unavailable('rpc_unavailable', `The node has not seen block ${block} yet: it is asked again.`)
}

function toEstimateRequest({ from, call }: GasRequest) {
  return { method: 'eth_estimateGas', params: [{ from, to: call.to, value: toQuantity(call.value), data: call.data }] }
}

function readAnswer(answer: RpcResult | undefined): GasEstimate {
  if (answer?.ok) return { ok: true, gasLimit: (BigInt(answer.value as string) * GAS_MARGIN_PERCENT) / 100n }
  const failure = answer === undefined ? null : classifyCallFailure(answer.error)
  if (failure?.type === 'reverted')
    return {
      ok: false,
      code: 'execution_reverted',
      reason: failure.reason || 'The call would revert without a reason.',
    }
  if (failure?.type === 'insufficient_funds') return { ok: false, code: 'insufficient_funds', reason: failure.message }
  throw new Unavailable('rpc_unavailable', 'The node could not simulate the call: it is tried again.', {
    cause: answer?.error,
  })
}
