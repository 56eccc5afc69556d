/**
 * Makes a mined transaction again after those before it in its block, on the state before the block (`eth_simulateV1`): what
 * another transaction of the block did to it, such as a trade that moved the price, is seen only so.
 */
import { Transaction } from 'ethers/transaction'
import { toQuantity } from './hex.ts'
import type { RpcReader, RpcResult } from './json-rpc.ts'
import { type CallFailure, classifyCallFailure } from './rpc-errors.ts'

/** Transactions before it that are made again. One that is further behind in its block stays unexplained. */
const MAX_EARLIER = 200

type Reverted = Extract<CallFailure, { readonly type: 'reverted' }>
type Fields = Readonly<Record<string, unknown>>

/** @returns `null` where no node says so, or it does not revert there either. Never throws for an answer */
export async function revertInBlock(
  client: RpcReader,
  { block, rawTransaction }: { readonly block: number; readonly rawTransaction: string },
): Promise<Reverted | null> {
  const { hash } = Transaction.from(rawTransaction)
  const [full] = await client.batch([{ method: 'eth_getBlockByNumber', params: [toQuantity(block), true] }])
  const sent = transactionsOf(full)
  const place = sent.findIndex((each) => each.hash === hash)
  if (place < 0 || place > MAX_EARLIER) return null
  const calls = sent.slice(0, place + 1).map(callOf)
  const blockOverrides = overridesOf(full)
  const payload = { blockStateCalls: [{ blockOverrides, calls }], validation: false }
  const [answer] = await client.batch([{ method: 'eth_simulateV1', params: [payload, toQuantity(block - 1)] }])
  return revertOf(answer, place)
}

function transactionsOf(full: RpcResult | undefined): readonly Fields[] {
  const { transactions } = fieldsOf(full?.ok ? full.value : null)
  return Array.isArray(transactions) ? transactions.map(fieldsOf) : []
}

/** What the transactions can see of their block. */
function overridesOf(full: RpcResult | undefined): Fields {
  const { timestamp, miner, gasLimit } = fieldsOf(full?.ok ? full.value : null)
  return { time: timestamp, feeRecipient: miner, gasLimit }
}

function callOf({ from, to, value, input, gas }: Fields): Fields {
  return { from, ...(to == null ? {} : { to }), value, input, gas }
}

function revertOf(answer: RpcResult | undefined, place: number): Reverted | null {
  const [block] = answer?.ok && Array.isArray(answer.value) ? answer.value.map(fieldsOf) : []
  const call = Array.isArray(block?.calls) ? fieldsOf(block.calls[place]) : {}
  if (call.status !== '0x0') return null
  const data = call.returnData ?? fieldsOf(call.error).data
  const failure = classifyCallFailure({ kind: 'answer', code: 3, message: 'execution reverted', data })
  return failure.type === 'reverted' ? failure : null
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
