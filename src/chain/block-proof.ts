/**
 * Proves by arithmetic what a node says of a block: the hash of the header is that of its fields, and the roots in it are
 * those of all transactions and all receipts. Whoever trusts the hash needs to believe nothing else. (Yellow Paper 4.4;
 * EIP-2718 for the types. The order of the fields is that of core/types/block.go: the same in geth 1.17.10, in Bor, and
 * in the geth of BSC.)
 */
import { RLP } from '@ethereumjs/rlp'
import { keccakHex, orderedRoot } from './ordered-root.ts'
import { type Block, type Claimed, readProven } from './proven-block.ts'
import {
  bytesOf,
  isSame,
  isUnsigned,
  NOBODY,
  numberOf,
  type Raw,
  type RecoverAddress,
  receiptBytes,
  transactionBytes,
  within,
} from './transaction-bytes.ts'

export type Proof =
  | { readonly disproof: string; readonly block: null }
  | { readonly disproof: null; readonly block: Block }

type Kind = 'bytes' | 'number'

/** The fields of a header in their order. */
const FIRST_FIELDS: readonly (readonly [string, Kind])[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
]
/** What forks appended: EIP-1559, 4895, 4844 (two), 4788, 7685, 7928, 7843. A header ends with the last that it has. */
const LATER_FIELDS: readonly (readonly [string, Kind])[] = [
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
  ['blockAccessListHash', 'bytes'],
  ['slotNumber', 'number'],
]

/** What of the transactions of a block does not follow from its hash; `null` when all but their senders does. */
export function disproofOfTransactions(block: Raw, transactions: readonly Raw[]): string | null {
  try {
    checkTransactions(
      block,
      transactions.filter((raw) => !isOutsideRoots(block, raw)),
    )
    return null
  } catch (error) {
    return asDisproof(block, error)
  }
}

/** Whether the header of a block has the hash that the node names; false where a network hashes other fields. */
export function hasOwnHash(block: Raw): boolean {
  try {
    return isSame(block.hash, headerHash(block))
  } catch {
    return false // Fields are missing or no numbers.
  }
}

/**
 * The block from nothing but what its hash proves: gas from the differences of the cumulative gas, prices from the signed
 * fees and the base fee, places of logs by counting, senders from the signatures. What was brought over from Ethereum
 * outside of the roots is left out.
 *
 * @param block as eth_getBlockByNumber returns it. The caller compares its hash with the one that it trusts.
 * @param transactions those of the block with their fields; `lacksBytes` tells of which the bytes are needed too
 * @param receipts one for each transaction, in their order; they may be missing for those outside of the roots
 * @param recover used when `from` is read; `null`: the sender is the one that the node claims
 */
export function provenBlock(
  block: Raw,
  transactions: readonly Raw[],
  receipts: readonly Raw[],
  recover: RecoverAddress | null,
): Proof {
  try {
    const claimed = insideRoots(block, transactions, receipts)
    checkTransactions(
      block,
      claimed.map(({ raw }) => raw),
    )
    const outcomes = claimed.map(({ receipt }, index) => within(`receipt ${index}`, () => receiptBytes(receipt)))
    if (!isSame(block.receiptsRoot, orderedRoot(outcomes))) throw new Error('it has another root of its receipts')
    return { disproof: null, block: readProven(block, claimed, recover) }
  } catch (error) {
    return { disproof: asDisproof(block, error), block: null }
  }
}

/** @throws Error */
function checkTransactions(block: Raw, inside: readonly Raw[]): void {
  if (!isSame(block.hash, headerHash(block))) throw new Error('it has another hash than its fields')
  const leaves = inside.map((raw, index) => within(`transaction ${index}`, () => leafOf(raw)))
  if (!isSame(block.transactionsRoot, orderedRoot(leaves))) throw new Error('it has another root of its transactions')
}

function asDisproof(block: Raw, error: unknown): string {
  return `block ${String(block.number)}: ${error instanceof Error ? error.message : String(error)}`
}

/**
 * The hash of a block, from its fields. None may be missing before the last: a missing number has the bytes of 0, so that
 * a base fee of 0 could be kept back.
 *
 * @throws Error when one is missing
 */
export function headerHash(block: Raw): string {
  const last = LATER_FIELDS.findLastIndex(([name]) => block[name] != null)
  const fields = [...FIRST_FIELDS, ...LATER_FIELDS.slice(0, last + 1)]
  return keccakHex(RLP.encode(fields.map(([name, kind]) => headerField(block[name], name, kind))))
}

/** What of a header its hash proves: a node may have added any other field. @param block a header that has its hash */
export function hashedFields(block: Raw): Raw {
  const names = [...FIRST_FIELDS, ...LATER_FIELDS].flatMap(([name]) => (block[name] == null ? [] : [name]))
  return Object.fromEntries(['hash', ...names].map((name) => [name, block[name]]))
}

function headerField(value: unknown, name: string, kind: Kind): Uint8Array {
  return kind === 'number' ? numberOf(value, name) : bytesOf(value, name)
}

/** @throws Error unless each transaction has its receipt */
function insideRoots(block: Raw, transactions: readonly Raw[], receipts: readonly Raw[]): Claimed[] {
  const inside = transactions.filter((raw) => !isOutsideRoots(block, raw))
  const left =
    inside.length === transactions.length
      ? receipts
      : receipts.filter(({ transactionHash: hash }) => !isOutsideRoots(block, { from: NOBODY, to: NOBODY, hash }))
  if (left.length !== inside.length) throw new Error(`it has ${inside.length} transactions and ${left.length} receipts`)
  return inside.map((raw, index) => ({ raw, receipt: left[index] ?? {} }))
}

function leafOf(raw: Raw): Uint8Array {
  const bytes = transactionBytes(raw)
  if (!isUnsigned(raw) && !isSame(raw.hash, keccakHex(bytes))) throw new Error('it has another hash than its bytes')
  return bytes
}

const STATE_SYNC_PREFIX = Buffer.from('matic-bor-receipt-')
const NUMBER_LENGTH = 8

/**
 * Whether a transaction is what the consensus of Polygon brings over from Ethereum: whatever nodes say of it is unproven.
 * Before PIP-74 they show it as a transaction and a receipt at the end of the block, which are in none of its roots.
 * (Bor, core/types/bor_receipt.go)
 */
function isOutsideRoots(block: Raw, { from, to, hash }: Raw): boolean {
  return from === NOBODY && to === NOBODY && typeof hash === 'string' && hash.toLowerCase() === hashOutsideRoots(block)
}

/** It names its block, whose hash can therefore not depend on it. */
function hashOutsideRoots(block: Raw): string {
  const number = Buffer.alloc(NUMBER_LENGTH)
  const digits = numberOf(block.number, 'number')
  number.set(digits, NUMBER_LENGTH - digits.length)
  return keccakHex(Buffer.concat([STATE_SYNC_PREFIX, number, bytesOf(block.hash, 'hash')]))
}
