/**
 * What the service reads of the answers of nodes. The rest differs between the programs of nodes that say the same: it is cut
 * before answers are compared, and nobody can put anything into it.
 */
import type { RpcRequest, RpcResult } from './json-rpc.ts'
import { classifyCallFailure, ranOutOfGas } from './rpc-errors.ts'

type Fields = Readonly<Record<string, unknown>>

export function whatIsRead({ method }: RpcRequest, result: RpcResult): RpcResult {
  if (!result.ok) return withMeaning(result)
  const read = READ[method]
  return read === undefined ? result : { ok: true, value: read(result.value) }
}

/** Refusals count as the same by their data: without it, by what they mean. */
function withMeaning(result: RpcResult & { readonly ok: false }): RpcResult {
  const { error } = result
  if (error.kind === 'unavailable') return result
  const failure = classifyCallFailure(error)
  if (failure.type === 'reverted' && failure.data !== null && failure.data !== '0x') return result
  const meaning = ranOutOfGas(error) ? `${failure.type}, out of gas` : failure.type
  return { ok: false, error: { ...error, data: { meaning } } }
}

/** What nodes write about refusals that mean the same, where they write it in different ways. */
const PLAIN: Readonly<Record<string, string>> = {
  reverted: 'execution reverted',
  'reverted, out of gas': 'out of gas',
  missing_state: 'header not found',
  insufficient_funds: 'insufficient funds',
  unsupported: 'the method is not supported',
}

/**
 * An agreed refusal in words that a quorum writes alike, otherwise in plain ones: votes are about what it means, and
 * the first of those that agree may write anything.
 */
export function inAgreedWords(
  agreed: RpcResult & { readonly ok: false },
  { heard, needed }: { readonly heard: readonly RpcResult[]; readonly needed: number },
): RpcResult {
  if (agreed.error.kind === 'unavailable') return agreed
  const { data } = agreed.error
  const texts = heard.flatMap((one) => (!one.ok && one.error.kind === 'answer' ? [one.error.message] : []))
  const shared = texts.find((text) => texts.filter((other) => other === text).length >= needed)
  const meaning = fieldsOf(data).meaning ?? 'reverted'
  const message = shared ?? PLAIN[String(meaning)] ?? 'the nodes refuse it'
  return { ok: false, error: { ...agreed.error, message } }
}

const READ: Readonly<Record<string, (value: unknown) => unknown>> = {
  eth_feeHistory(value) {
    const { baseFeePerGas, gasUsedRatio, reward } = fieldsOf(value)
    // Whether a block is empty: how full it is has as many digits as a program likes.
    return { baseFeePerGas, gasUsedRatio: listOf(gasUsedRatio).map((ratio) => (ratio === 0 ? 0 : 1)), reward }
  },
  eth_simulateV1: (value) =>
    Array.isArray(value) ? value.map((block) => ({ calls: listOf(fieldsOf(block).calls).map(simulatedCall) })) : value,
  eth_getTransactionByHash(value) {
    if (value === null) return null
    const { hash, blockHash, blockNumber, input } = fieldsOf(value)
    return { hash, blockHash, blockNumber, input }
  },
  debug_traceTransaction: frame,
  debug_traceCall: frame,
}

function simulatedCall(call: unknown) {
  const { status, returnData, gasUsed, error } = fieldsOf(call)
  const { data } = fieldsOf(error)
  return { status, returnData, gasUsed, ...(data === undefined ? {} : { error: { data } }) }
}

function frame(value: unknown): unknown {
  const { type, from, to, error, output, calls } = fieldsOf(value)
  return { type, from, to, ...(error ? { error: 'failed' } : {}), output, calls: listOf(calls).map(frame) }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
