/**
 * Batched reads of trusted contracts and accounts at one block: through Multicall3 if the chain has it, otherwise as a
 * JSON-RPC batch. Contracts that tenants name are read by token-reads.ts.
 */
import { Unavailable } from '../core/errors.ts'
import { decodeAggregate3, encodeAggregate3 } from './aggregate3.ts'
import { addressWord, readData, readQuantity, toQuantity, uintWord, wordAt } from './hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, resultValue } from './json-rpc.ts'
import { classifyCallFailure } from './rpc-errors.ts'

/** Selector of Multicall3's `getEthBalance(address)`. */
const GET_ETH_BALANCE = '0x4d2301cc'

/** 500 balances cost about 2 M gas, far below the call limits of nodes (50 M on geth). */
const CALLS_PER_CHUNK = 500

/** A number, a tag, or a hash (EIP-1898): a hash is never answered from another fork. */
export type BlockTag = number | 'latest' | { readonly blockHash: string }

export type ContractCall = { readonly target: string; readonly data: string }

/** The return data of a call; `null` when it reverted or there is no contract. */
export type CallReturn = string | null

/** One read in both forms: inside a multicall, and as a separate request. */
type Read = { readonly inside: ContractCall; readonly alone: RpcRequest }

/**
 * Balances of the native currency, in the order of the addresses. Runs no contract except Multicall3.
 *
 * @param multicall3 address of Multicall3; `null` if the chain has none
 * @returns base units
 * @throws Unavailable when no node answered, ChainRefused when the node lacks the block's state
 */
export async function readNativeBalances(
  client: RpcReader,
  multicall3: string | null,
  addresses: readonly string[],
  tag: BlockTag,
): Promise<bigint[]> {
  const block = blockParam(tag)
  const reads = addresses.map(
    (address): Read => ({
      inside: { target: multicall3 ?? '', data: GET_ETH_BALANCE + addressWord(address) },
      alone: { method: 'eth_getBalance', params: [address, block] },
    }),
  )
  const returns = await readAll(client, multicall3, reads, block)
  return returns.map((data) => readWord(data))
}

function readWord(data: CallReturn): bigint {
  const balance = data === null ? null : wordAt(data, 0)
  if (balance === null) throw new Unavailable('rpc_unavailable', 'The node returned no balance of an account.')
  return balance
}

/**
 * Read-only calls, in order.
 *
 * @throws Unavailable when no node answered, ChainRefused when the node lacks the block's state
 */
export async function readContracts(
  client: RpcReader,
  multicall3: string | null,
  calls: readonly ContractCall[],
  tag: BlockTag,
): Promise<CallReturn[]> {
  const block = blockParam(tag)
  const reads = calls.map((call) => contractRead(call, block))
  return readAll(client, multicall3, reads, block)
}

/** The JSON-RPC parameter for a block. */
export function blockParam(tag: BlockTag): unknown {
  return typeof tag === 'number' ? toQuantity(tag) : tag
}

function contractRead(call: ContractCall, block: unknown): Read {
  return { inside: call, alone: ethCall(call, block) }
}

function ethCall(call: ContractCall, block: unknown): RpcRequest {
  return { method: 'eth_call', params: [{ to: call.target, data: call.data }, block] }
}

async function readAll(
  client: RpcReader,
  multicall3: string | null,
  reads: readonly Read[],
  block: unknown,
): Promise<CallReturn[]> {
  const returns = multicall3 === null ? [] : await readInside(client, multicall3, reads, block)
  // A read inside a multicall may have run out of gas because of its neighbours: it is repeated alone before it counts
  // as failed.
  const open = reads.map((_read, i) => i).filter((i) => (returns[i] ?? null) === null)
  const results = await client.batch(open.flatMap((i) => reads[i]?.alone ?? []))
  for (const [place, i] of open.entries()) returns[i] = readAlone(results[place], reads[i]?.alone.method ?? '')
  return returns
}

async function readInside(
  client: RpcReader,
  multicall3: string,
  reads: readonly Read[],
  block: unknown,
): Promise<CallReturn[]> {
  const chunks = chunked(
    reads.map(({ inside }) => inside),
    CALLS_PER_CHUNK,
  )
  const results = await client.batch(chunks.map((chunk) => ethCall(together(multicall3, chunk), block)))
  return chunks.flatMap((chunk, i) => returnsOf(results[i], chunk.length))
}

/** One call of Multicall3 that makes all of these. */
function together(multicall3: string, calls: readonly ContractCall[]): ContractCall {
  return { target: multicall3, data: encodeAggregate3(calls) }
}

function chunked<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
}

/** What each of `count` calls inside a multicall returned; all `null` when the whole call failed. */
function returnsOf(result: RpcResult | undefined, count: number): CallReturn[] {
  const data = callReturn(result)
  return data === null ? Array<CallReturn>(count).fill(null) : decodeAggregate3(data, count)
}

/** Reads of third-party contracts as requests, for a caller that sends them in a batch of its own. */
export type BoundedReads = {
  readonly requests: readonly RpcRequest[]
  /** What each call returned, from the results of the requests. @throws as `readContracts` */
  readonly returns: (results: readonly RpcResult[]) => CallReturn[]
}

/**
 * Like `readContracts`, for contracts that may misbehave: `gas` bounds each eth_call, and a failed read is not repeated
 * alone. So a batch stays one round trip, and a contract that burns gas can only fail the calls beside it.
 *
 * @param perCall how many reads share one eth_call
 */
export function boundedReads(
  multicall3: string | null,
  calls: readonly ContractCall[],
  { tag, gas, perCall }: { readonly tag: BlockTag; readonly gas: bigint; readonly perCall: number },
): BoundedReads {
  const block = blockParam(tag)
  const chunks = chunked(calls, multicall3 === null ? 1 : perCall)
  const requests = chunks.flatMap((chunk) =>
    (multicall3 === null ? chunk : [together(multicall3, chunk)]).map(({ target, data }) => ({
      method: 'eth_call',
      params: [{ to: target, data, gas: toQuantity(gas) }, block],
    })),
  )
  return {
    requests,
    returns: (results) =>
      chunks.flatMap((chunk, i) =>
        multicall3 === null ? [callReturn(results[i])] : returnsOf(results[i], chunk.length),
      ),
  }
}

function readAlone(result: RpcResult | undefined, method: string): CallReturn {
  if (method === 'eth_call') return callReturn(result)
  return `0x${uintWord(readQuantity(resultValue(result, method), 'a balance'))}`
}

function callReturn(result: RpcResult | undefined): CallReturn {
  if (result?.ok === false && classifyCallFailure(result.error).type === 'reverted') return null
  const data = readData(resultValue(result, 'eth_call'), 'the answer to eth_call')
  return data === '0x' ? null : data
}
