/** Runs a call on the newest state without sending it: what it returns, what it costs, and why it would fail. */
import { type CallError, decodeCallError } from '../chain/abi-errors.ts'
import { readData, readQuantity, toQuantity } from '../chain/hex.ts'
import { type RpcReader, type RpcResult, resultValue } from '../chain/json-rpc.ts'
import { classifyCallFailure, ranOutOfGas } from '../chain/rpc-errors.ts'
import { ValidationFailed } from '../core/errors.ts'
import type { DescribedCall } from './read-call.ts'

export type Simulation =
  /** `gas`: as the node estimates it; `null` if it was not asked, or estimates nothing. */
  | { readonly outcome: 'returned'; readonly data: string; readonly gas: bigint | null }
  | { readonly outcome: 'reverted'; readonly error: CallError }
  /** The wallet has less than the value. */
  | { readonly outcome: 'insufficient_funds' }

/**
 * @param from the wallet's address
 * @param options.gas the most that the call may use; `estimates` also asks for an estimate
 * @throws Unavailable when no node answered, ChainRefused `rpc_error` when a node refuses the call itself,
 *   ValidationFailed `too_large` for an answer above a megabyte
 */
export async function simulateCall(
  client: RpcReader,
  from: string,
  { to, data, value, errors }: Pick<DescribedCall, 'to' | 'data' | 'value' | 'errors'>,
  { gas, estimates }: { readonly gas: bigint; readonly estimates: boolean },
): Promise<Simulation> {
  const call = { from, to, data, value: toQuantity(value), gas: toQuantity(gas) }
  const [answer, estimate] = await client.batch([
    { method: 'eth_call', params: [call, 'latest'] },
    ...(estimates ? [{ method: 'eth_estimateGas', params: [call] }] : []),
  ])
  const failed = failureOf(answer, errors, gas) ?? (estimates ? failureOf(estimate, errors, gas) : null)
  if (failed !== null) return failed
  return {
    outcome: 'returned',
    data: readData(resultValue(answer, 'eth_call'), 'the answer to eth_call'),
    gas: estimates ? readQuantity(resultValue(estimate, 'eth_estimateGas'), 'the estimate of the gas') : null,
  }
}

function failureOf(answer: RpcResult | undefined, errors: DescribedCall['errors'], gas: bigint): Simulation | null {
  if (answer === undefined || answer.ok) return null
  const { error } = answer
  if (error.kind === 'unavailable' && error.reason === 'too_large') {
    const rule = 'contract_address returns more than a megabyte: call a function that returns less.'
    throw ValidationFailed.field('contract_address', 'too_large', rule)
  }
  const failure = classifyCallFailure(error)
  if (failure.type === 'insufficient_funds') return { outcome: 'insufficient_funds' }
  if (failure.type !== 'reverted') return null
  const reason = ranOutOfGas(error) ? `It needs more than ${gas} gas.` : failure.reason
  const decoded = decodeCallError(failure.data ?? '0x', errors)
  return { outcome: 'reverted', error: { ...decoded, reason: decoded.reason ?? reason } }
}
