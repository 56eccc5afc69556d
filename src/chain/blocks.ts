/**
 * Whole blocks with their receipts, checked to belong together: each receipt names the hash of its block and each block
 * the hash of its parent. When a reorg happens during the read, the range is cut off and never mixes two forks.
 */
import { readAuthorizations } from './authorizations.ts'
import { hasOwnHash, provenBlock } from './block-proof.ts'
import { readCount, readLower, readQuantity, toQuantity } from './hex.ts'
import { type RpcReader, type RpcRequest, type RpcResult, resultValue } from './json-rpc.ts'
import {
  BLOB_TYPE,
  type Block,
  type BlockHeader,
  type BlockRef,
  type BlockTransaction,
  type ChainLogEntry,
  type FeeOffer,
} from './proven-block.ts'
import { isUnsupported } from './rpc-errors.ts'
import { lacksBytes, type Raw, type RecoverAddress } from './transaction-bytes.ts'

export type { Block, BlockHeader, BlockRef, BlockTransaction, ChainLogEntry, FeeOffer }

export type BlockRange = {
  readonly from: number
  readonly to: number
  /** Whether to try eth_getBlockReceipts. */
  readonly blockReceipts: boolean
  /** Finds who signed a transaction; `null`: the sender is the one that the node claims. */
  readonly recover: RecoverAddress | null
}

export type BlocksRead = {
  /** Consecutive from `from`; fewer than requested, or none, when the chain ended or changed. */
  readonly blocks: readonly Block[]
  /**
   * Why the read was cut at the block after the last one, which does not match its receipts, its parent or its hash; `null`
   * if it was not cut.
   */
  readonly torn: string | null
  /** The node does not support eth_getBlockReceipts: do not call it again. */
  readonly lacksBlockReceipts: boolean
  /** Whether the headers have their hashes, and so each block follows from its own: not on every development node. */
  readonly hashes: boolean
}

type RawBlock = { readonly block: Raw; readonly receipts: Map<string, Raw> }

/**
 * Reads a range in one JSON-RPC batch. Receipts that the node omits (some omit the system transactions of Polygon) are
 * requested one by one.
 *
 * @throws Unavailable when the first block could not be read
 */
export async function readBlocks(client: RpcReader, range: BlockRange): Promise<BlocksRead> {
  const numbers = Array.from({ length: range.to - range.from + 1 }, (_, i) => toQuantity(range.from + i))
  const width = range.blockReceipts ? 2 : 1
  const results = await client.batch(
    numbers.flatMap((number): RpcRequest[] => [
      { method: 'eth_getBlockByNumber', params: [number, true] },
      ...(range.blockReceipts ? [{ method: 'eth_getBlockReceipts', params: [number] }] : []),
    ]),
  )
  const raw: RawBlock[] = []
  for (let i = 0; i < numbers.length; i++) {
    const block = rawBlock(
      results[width * i],
      range.blockReceipts ? results[width * i + 1] : undefined,
      raw.length === 0,
    )
    if (block === null) break
    raw.push(block)
  }
  await completeReceipts(client, raw)
  await completeBytes(client, raw)
  const receiptsResult = results[1]
  return {
    ...assemble(raw, range),
    hashes: raw.every(({ block }) => hasOwnHash(block)),
    lacksBlockReceipts: range.blockReceipts && receiptsResult?.ok === false && isUnsupported(receiptsResult.error),
  }
}

/** Headers by number; `null` when the node has no such block. @throws Unavailable */
export async function readHeaders(client: RpcReader, numbers: readonly number[]): Promise<(BlockHeader | null)[]> {
  const results = await client.batch(
    numbers.map((number) => ({ method: 'eth_getBlockByNumber', params: [toQuantity(number), false] })),
  )
  return results.map((result) => {
    const block = resultValue(result, 'eth_getBlockByNumber')
    return isRaw(block) ? readHeader(block) : null
  })
}

/** The number of transactions in each block of a range; `null` when the node does not return it. */
export async function readTransactionCounts(client: RpcReader, from: number, to: number): Promise<(number | null)[]> {
  const method = 'eth_getBlockTransactionCountByNumber'
  const numbers = Array.from({ length: to - from + 1 }, (_, i) => toQuantity(from + i))
  const results = await client.batch(numbers.map((number) => ({ method, params: [number] })))
  return results.map((result) =>
    result.ok && typeof result.value === 'string' ? readCount(result.value, 'a transaction count') : null,
  )
}

/** The newest block with this tag. @throws Unavailable */
export async function readHead(client: RpcReader, tag: 'latest' | 'finalized' = 'latest'): Promise<BlockHeader> {
  const [result] = await client.batch([{ ...HEAD_REQUEST, params: [tag, false] }])
  return headOf(result)
}

/** The newest block, for a caller that asks for more in the same batch. */
export const HEAD_REQUEST: RpcRequest = { method: 'eth_getBlockByNumber', params: ['latest', false] }

/** The answer to `HEAD_REQUEST`. @throws Unavailable */
export function headOf(result: RpcResult | undefined): BlockHeader {
  const block = resultValue(result, 'eth_getBlockByNumber')
  return readHeader(isRaw(block) ? block : {})
}

function readHeader(block: Raw): BlockHeader {
  return {
    number: readCount(block.number, 'a block number'),
    hash: readLower(block.hash, 'a block hash'),
    parentHash: readLower(block.parentHash, 'a parent hash'),
  }
}

/**
 * `null` ends the range here. A first block that cannot be read is an error, not an end. Receipts that a node refuses
 * ("receipts length mismatch") are requested singly later; a missing answer ends the range.
 */
function rawBlock(result: RpcResult | undefined, receipts: RpcResult | undefined, isFirst: boolean): RawBlock | null {
  const unread = [result, receipts].find((part) => part?.ok === false && part.error.kind === 'unavailable')
  if (unread !== undefined || result?.ok === false) {
    if (isFirst) resultValue(unread ?? result, 'eth_getBlockByNumber')
    return null
  }
  const block = result?.value
  if (!isRaw(block)) return null
  const list: unknown[] = receipts?.ok && Array.isArray(receipts.value) ? receipts.value : []
  return { block, receipts: new Map(list.filter(isRaw).map((receipt) => [String(receipt.transactionHash), receipt])) }
}

async function completeReceipts(client: RpcReader, raw: readonly RawBlock[]): Promise<void> {
  const missing = raw.flatMap((entry) =>
    rawTransactions(entry.block)
      .map((transaction) => String(transaction.hash))
      .filter((hash) => !entry.receipts.has(hash))
      .map((hash) => ({ entry, hash })),
  )
  const results = await client.batch(
    missing.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
  for (const [i, { entry, hash }] of missing.entries()) {
    const result = results[i]
    if (result?.ok && isRaw(result.value)) entry.receipts.set(hash, result.value)
  }
}

/** Of what a state sync brings over, nodes show only the bytes that they are asked for (PIP-74). */
export async function completeBytes(client: RpcReader, raw: readonly Pick<RawBlock, 'block'>[]): Promise<void> {
  const missing = raw.flatMap(({ block }) => rawTransactions(block).filter(lacksBytes))
  if (missing.length === 0) return
  const results = await client.batch(
    missing.map(({ hash }) => ({ method: 'eth_getRawTransactionByHash', params: [hash] })),
  )
  for (const [i, transaction] of missing.entries()) {
    const result = results[i]
    if (result?.ok) Object.assign(transaction, { raw: result.value })
  }
}

function assemble(raw: readonly RawBlock[], { from, recover }: BlockRange): Pick<BlocksRead, 'blocks' | 'torn'> {
  const blocks: Block[] = []
  for (const [i, entry] of raw.entries()) {
    const block = assembleBlock(entry, recover)
    const before = blocks.at(-1)
    const torn = typeof block === 'string' ? block : misplaced(block, from + i, before)
    if (typeof block === 'string' || torn !== null) return { blocks, torn }
    blocks.push(block)
  }
  return { blocks, torn: null }
}

function misplaced(
  { number, parentHash }: BlockHeader,
  expected: number,
  before: BlockHeader | undefined,
): string | null {
  if (number !== expected) return `the node returned block ${number} as block ${expected}`
  if (before === undefined || parentHash === before.hash) return null
  return `block ${number} names another parent than the block before it`
}

/**
 * A string tells why it is none: a receipt is missing or belongs to another block, or the block does not follow from its hash.
 * Where the headers of a network do not hash, it is what the node says.
 */
function assembleBlock({ block, receipts }: RawBlock, recover: RecoverAddress | null): Block | string {
  const sent = rawTransactions(block)
  const own = sent.flatMap((raw): Raw[] => {
    const receipt = receipts.get(String(raw.hash))
    return receipt === undefined ? [] : [receipt]
  })
  if (hasOwnHash(block)) {
    const proof = provenBlock(block, sent, own, recover)
    return proof.block ?? proof.disproof
  }
  const header = readHeader(block)
  if (own.length < sent.length || own.some((one) => readLower(one.blockHash, 'a receipt’s block hash') !== header.hash))
    return `the receipts that the node returned for block ${header.number} belong to another block`
  return {
    ...header,
    timestamp: readCount(block.timestamp, 'a timestamp'),
    baseFeePerGas: block.baseFeePerGas == null ? null : readQuantity(block.baseFeePerGas, 'a base fee'),
    income: null,
    transactions: sent.flatMap((raw, i) => {
      const receipt = own[i]
      return receipt === undefined ? [] : [readTransaction(raw, receipt)]
    }),
  }
}

function readTransaction(raw: Raw, receipt: Raw): BlockTransaction {
  const logs: unknown[] = Array.isArray(receipt.logs) ? receipt.logs : []
  return {
    hash: readLower(raw.hash, 'a transaction hash'),
    from: readLower(raw.from, 'a sender'),
    to: raw.to == null ? null : readLower(raw.to, 'a recipient'),
    nonce: readCount(raw.nonce, 'a nonce'),
    value: readQuantity(raw.value, 'a value'),
    input: readLower(raw.input ?? '0x', 'call data'),
    status: receipt.status === '0x1' ? 'success' : 'reverted',
    gasUsed: readQuantity(receipt.gasUsed, 'gas used'),
    effectiveGasPrice: readQuantity(receipt.effectiveGasPrice ?? raw.gasPrice, 'a gas price'),
    offer: readOffer(raw),
    logs: logs.filter(isRaw).map(readLog),
    authorizations: readAuthorizations(raw),
    hasBlobs: raw.type === toQuantity(BLOB_TYPE),
  }
}

/** The signed fees of a transaction of type 2; `null` for other types. @throws Unavailable when they are malformed */
export function readOffer({ type, maxFeePerGas, maxPriorityFeePerGas }: Raw): FeeOffer | null {
  if (type !== '0x2') return null
  return {
    maxFeePerGas: readQuantity(maxFeePerGas, 'a fee'),
    maxPriorityFeePerGas: readQuantity(maxPriorityFeePerGas, 'a tip'),
  }
}

function readLog(log: Raw): ChainLogEntry {
  return {
    address: readLower(log.address, 'a log’s address'),
    topics: Array.isArray(log.topics) ? log.topics.map((topic) => readLower(topic, 'a topic')) : [],
    data: readLower(log.data, 'a log’s data'),
    logIndex: readCount(log.logIndex, 'a log index'),
  }
}

function rawTransactions(block: Raw): Raw[] {
  return Array.isArray(block.transactions) ? block.transactions.filter(isRaw) : []
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null
}
