/**
 * Finds why a mined transaction failed: simulates the call on the state before its block and decodes the error. If its
 * block also has an earlier transaction of the sender, such as an approval, it is simulated on the state after the block.
 * Where the simulation succeeds, an earlier transaction of the block made it fail: those before it are made first.
 */
import { Transaction } from 'ethers/transaction'
import { reasonByErrors } from './abi-errors.ts'
import { toQuantity } from './hex.ts'
import type { RpcReader } from './json-rpc.ts'
import { revertInBlock } from './revert-in-block.ts'
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
  const { from, to, value, data, gasLimit, nonce } = Transaction.from(rawTransaction)
  if (inclusion.gasUsed >= gasLimit) return 'It ran out of gas.'
  const call = { from, to, value: toQuantity(value), data, gas: toQuantity(gasLimit) }
  const [block, parent] = [toQuantity(inclusion.blockNumber), toQuantity(inclusion.blockNumber - 1)]
  const [before, after, count] = await client.batch([
    { method: 'eth_call', params: [call, parent] },
    { method: 'eth_call', params: [call, block] },
    { method: 'eth_getTransactionCount', params: [from, parent] },
  ])
  const hasEarlier = count?.ok === true && Number(count.value) < nonce
  const answer = hasEarlier ? after : before
  const failure = answer?.ok === false ? classifyCallFailure(answer.error) : null
  if (failure?.type === 'reverted') return reasonByErrors(failure, errors) || 'It reverted without a reason.'
  if (answer?.ok !== true) return 'It reverted, and no node returned the reason.'
  const known = await revertInBlock(client, { block: inclusion.blockNumber, rawTransaction })
  if (known !== null) return reasonByErrors(known, errors) || 'It reverted without a reason.'
  return hasEarlier
    ? 'It reverted in its block, but not in a simulation on the state after that block: another transaction of the block caused it.'
    : 'It reverted in its block, but not in a simulation on the state before that block: an earlier transaction of the block caused it.'
}
