/**
 * Proves by arithmetic what a node says of a block: the hash of the header is that of its fields, and the roots in it are
 * those of all transactions and all receipts. Whoever trusts the hash needs to believe nothing else (Yellow Paper 4.4;
 * EIP-2718 for the types; geth 1.17.10, core/types, for the order of the fields).
 */
import { RLP } from '@ethereumjs/rlp'
import { fastKeccak } from './fast-keccak.ts'

export type Raw = Readonly<Record<string, unknown>>
type Rlp = Uint8Array | Rlp[]

/** The fields of a header in their order, and those that are numbers. Later forks append; what a chain lacks ends them. */
const HEADER_FIELDS: readonly (readonly [string, 'bytes' | 'number'])[] = [
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
  // EIP-1559, 4895, 4844 (two), 4788, 7685, 7928, 7843
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
  ['blockAccessListHash', 'bytes'],
  ['slotNumber', 'number'],
]

/** The signed fields of a transaction by its type, between the prefix and the signature. */
const FEES = ['maxPriorityFeePerGas', 'maxFeePerGas']
const CALL = ['gas', 'to', 'value', 'input']
const TRANSACTION_FIELDS: Readonly<Record<number, readonly string[]>> = {
  0: ['nonce', 'gasPrice', ...CALL],
  1: ['chainId', 'nonce', 'gasPrice', ...CALL, 'accessList'],
  2: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList'],
  3: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList', 'maxFeePerBlobGas', 'blobVersionedHashes'],
  4: ['chainId', 'nonce', ...FEES, ...CALL, 'accessList', 'authorizationList'],
}

/**
 * What of this block does not follow from its hash; `null` when all of it does. The senders are not compared: they follow
 * from the signatures in the transactions.
 *
 * @param receipts one for each transaction, in their order; `null` when the caller uses none
 */
export function disproof(block: Raw, transactions: readonly Raw[], receipts: readonly Raw[] | null): string | null {
  try {
    const number = `block ${String(block.number)}`
    if (headerHash(block) !== block.hash) return `${number} has another hash than its fields`
    const named = transactions.findIndex((transaction) => !hasItsHash(transaction))
    if (named !== -1) return `transaction ${named} of ${number} has another hash than its bytes`
    if (rootOf(transactions.map(transactionBytes)) !== block.transactionsRoot)
      return `${number} has another root of its transactions`
    if (receipts !== null && rootOf(receipts.map(receiptBytes)) !== block.receiptsRoot)
      return `${number} has another root of its receipts`
    return null
  } catch (error) {
    return `block ${String(block.number)} cannot be read: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Whether the header of a block has the hash that the node names; false where a network hashes other fields. */
export function hasOwnHash(block: Raw): boolean {
  try {
    return headerHash(block) === block.hash
  } catch {
    return false // Fields are missing or no numbers.
  }
}

/** The hash of a block, from its fields. */
export function headerHash(block: Raw): string {
  const fields = HEADER_FIELDS.filter(([name]) => block[name] != null)
  return keccakHex(
    RLP.encode(fields.map(([name, kind]) => (kind === 'number' ? number(block[name]) : bytes(block[name])))),
  )
}

/** Development nodes make transactions without a signature; no public chain has one in a root. */
function hasItsHash(transaction: Raw): boolean {
  if (Number(transaction.r) === 0 && Number(transaction.s) === 0) return true
  return keccakHex(transactionBytes(transaction)) === transaction.hash
}

/** EIP-2718 */
function transactionBytes(raw: Raw): Uint8Array {
  const type = typeOf(raw)
  const fields = TRANSACTION_FIELDS[type]
  if (fields === undefined) throw new Error(`no known type of a transaction: ${type}`)
  const body = RLP.encode([...fields.map((name) => transactionField(name, raw[name])), ...signature(raw, type)])
  return typed(type, body)
}

function signature(raw: Raw, type: number): Rlp[] {
  const v = type === 0 ? raw.v : (raw.yParity ?? raw.v)
  return [number(v), number(raw.r), number(raw.s)]
}

function transactionField(name: string, value: unknown): Rlp {
  if (name === 'to') return value == null ? new Uint8Array() : bytes(value)
  if (name === 'input') return bytes(value ?? '0x')
  if (name === 'blobVersionedHashes') return list(value).map(bytes)
  if (name === 'accessList')
    return list(value).map((entry) => [bytes(member(entry, 'address')), list(member(entry, 'storageKeys')).map(bytes)])
  if (name === 'authorizationList')
    return list(value).map((entry) => [
      number(member(entry, 'chainId')),
      bytes(member(entry, 'address')),
      number(member(entry, 'nonce')),
      number(member(entry, 'yParity') ?? member(entry, 'v')),
      number(member(entry, 'r')),
      number(member(entry, 's')),
    ])
  return number(value)
}

function receiptBytes(raw: Raw): Uint8Array {
  const logs = list(raw.logs).map((log) => [
    bytes(member(log, 'address')),
    list(member(log, 'topics')).map(bytes),
    bytes(member(log, 'data')),
  ])
  // Before Byzantium (EIP-658) a receipt has a state root instead.
  const outcome = raw.status == null ? bytes(raw.root) : number(raw.status)
  return typed(typeOf(raw), RLP.encode([outcome, number(raw.cumulativeGasUsed), bytes(raw.logsBloom), logs]))
}

function typed(type: number, body: Uint8Array): Uint8Array {
  if (type === 0) return body
  const whole = new Uint8Array(body.length + 1)
  whole[0] = type
  whole.set(body, 1)
  return whole
}

function typeOf({ type }: Raw): number {
  return type == null ? 0 : Number(type)
}

/** The root of a list, as of the trie of its items by RLP of their index. */
export function rootOf(items: readonly Uint8Array[]): string {
  if (items.length === 0) return keccakHex(RLP.encode(new Uint8Array()))
  const leaves = items.map((value, index) => ({ path: nibblesOf(RLP.encode(index)), value }))
  return keccakHex(RLP.encode(trieNode(leaves, 0)))
}

type Leaf = { readonly path: readonly number[]; readonly value: Uint8Array }

/** Yellow Paper, appendix D. No path of an index is the start of another one, so that no branch has a value. */
function trieNode(leaves: readonly Leaf[], depth: number): Rlp[] {
  const [first] = leaves
  if (first === undefined) return []
  if (leaves.length === 1) return [compact(first.path.slice(depth), true), first.value]
  let shared = depth
  while (leaves.every(({ path }) => path[shared] === first.path[shared])) shared += 1
  if (shared > depth) return [compact(first.path.slice(depth, shared), false), reference(trieNode(leaves, shared))]
  const below: Leaf[][] = Array.from({ length: 16 }, () => [])
  for (const leaf of leaves) below[leaf.path[depth] ?? 0]?.push(leaf)
  const empty = new Uint8Array()
  return [...below.map((some) => (some.length === 0 ? empty : reference(trieNode(some, depth + 1)))), empty]
}

/** A node in its parent: as it is when it has less than 32 bytes, otherwise its hash. */
function reference(node: Rlp[]): Rlp {
  const encoded = RLP.encode(node)
  return encoded.length < 32 ? node : fastKeccak(encoded)
}

/** The hex prefix of a path (Yellow Paper, appendix C). */
function compact(path: readonly number[], isLeaf: boolean): Uint8Array {
  const flag = isLeaf ? 2 : 0
  const whole = path.length % 2 === 0 ? [flag, 0, ...path] : [flag + 1, ...path]
  return Uint8Array.from({ length: whole.length / 2 }, (_, i) => 16 * (whole[2 * i] ?? 0) + (whole[2 * i + 1] ?? 0))
}

function nibblesOf(key: Uint8Array): number[] {
  return [...key].flatMap((byte) => [byte >> 4, byte & 15])
}

function keccakHex(data: Uint8Array): string {
  return `0x${Buffer.from(fastKeccak(data)).toString('hex')}`
}

function bytes(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !value.startsWith('0x') || value.length % 2 !== 0) throw new Error('no bytes in hex')
  const read = Buffer.from(value.slice(2), 'hex')
  if (2 * read.length !== value.length - 2) throw new Error('no bytes in hex')
  return read
}

/** The shortest bytes of a number. */
function number(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !/^0x[0-9a-f]+$/i.test(value)) throw new Error('no number in hex')
  const digits = value.slice(2).replace(/^0+/, '')
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function member(value: unknown, name: string): unknown {
  return (value as Raw | null)?.[name]
}
