/** Finds why a mined transaction failed: simulates the call on the state before its block and decodes the error. */
import { Transaction } from 'ethers/transaction'
import { reasonByErrors } from './abi-errors.ts'
import { toQuantity } from './hex.ts'
import type { RpcReader } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

/** The block of a failed transaction, and the gas units that it used. */
export type FailedInclusion = { readonly blockNumber: number; readonly gasUsed: bigint }

/**
 * Always returns a text; if the reason cannot be determined, the text says so.
 *
 * @param errors recorded fragments of the caller's ABI
 */
export async function explainRevert(
  client: RpcReader,
  inclusion: FailedInclusion,
  rawTransaction: string,
  errors?: readonly string[],
): Promise<string> {
  const { from, to, value, data, gasLimit } = Transaction.from(rawTransaction)
  if (inclusion.gasUsed >= gasLimit) return 'It ran out of gas.'
  const call = { from, to, value: toQuantity(value), data, gas: toQuantity(gasLimit) }
  const [answer] = await client.batch([{ method: 'eth_call', params: [call, toQuantity(inclusion.blockNumber - 1)] }])
  const failure = answer?.ok === false ? classifyCallFailure(answer.error) : null
  if (failure?.type === 'reverted') return reasonByErrors(failure, errors) || 'It reverted without a reason.'
  if (answer?.ok !== true) return 'It reverted, and no node returned the reason.'
  return 'It reverted in its block, but not in a simulation on the state before that block: an earlier transaction of the block caused it.'
}
