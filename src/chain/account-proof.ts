/**
 * The balance of an account by arithmetic: what eth_getProof (EIP-1186) returns leads from the state root of a header to the
 * account, or shows that there is none. Whoever trusts the root needs to believe nothing else. (Yellow Paper 4.1, appendix D)
 */
import { RLP } from '@ethereumjs/rlp'
import { fastKeccak } from './fast-keccak.ts'
import { keccakHex } from './ordered-root.ts'
import { bytesOf, isSame } from './transaction-bytes.ts'

/** What a node says is no proof of this account under this root. */
export type AccountProof =
  | { readonly disproof: string; readonly balance: null }
  /** Wei; 0 where there is no account. */
  | { readonly disproof: null; readonly balance: bigint }

/** The nibbles of a hash, and the root: no path in the trie is longer. */
const MAX_NODES = 65
/** A branch of 16 hashes with its length: no node of the trie of accounts is longer. */
const MAX_NODE_BYTES = 600
const BRANCH_ITEMS = 17
const HASH_BYTES = 32
const ACCOUNT_FIELDS = 4

/**
 * @param stateRoot of a header that has its hash, as a node shows it
 * @param nodes `accountProof` of eth_getProof
 */
export function provenBalance(stateRoot: unknown, address: string, nodes: unknown): AccountProof {
  try {
    const account = accountUnder(stateRoot, nibblesOf(fastKeccak(bytesOf(address, 'address'))), listOf(nodes))
    return { disproof: null, balance: account === null ? 0n : balanceOf(account) }
  } catch (error) {
    return { disproof: error instanceof Error ? error.message : String(error), balance: null }
  }
}

/** @throws Error when the nodes do not lead from the root to the account, or to where it would be */
function accountUnder(root: unknown, path: readonly number[], nodes: readonly Uint8Array[]): Uint8Array | null {
  let expected: unknown = root
  let depth = 0
  for (const [i, bytes] of nodes.entries()) {
    if (typeof expected !== 'string' || !isSame(expected, keccakHex(bytes)))
      throw new Error(`node ${i} of the proof has another hash`)
    const step = stepFrom(RLP.decode(bytes), path, depth)
    if (step.next === null) {
      if (i !== nodes.length - 1) throw new Error('the proof goes on behind its end')
      return step.value
    }
    expected = step.next
    depth = step.depth
  }
  throw new Error('the proof ends before the account')
}

type Step =
  | { readonly next: string; readonly depth: number }
  /** `value` is null where there is no account. */
  | { readonly next: null; readonly value: Uint8Array | null }

const ABSENT: Step = { next: null, value: null }

function stepFrom(node: unknown, path: readonly number[], depth: number): Step {
  if (!Array.isArray(node)) throw new Error('a node of the proof is no list')
  if (node.length === BRANCH_ITEMS) {
    const child = itemOf(node, path[depth] ?? BRANCH_ITEMS)
    return child.length === 0 ? ABSENT : { next: hashIn(child), depth: depth + 1 }
  }
  if (node.length !== 2) throw new Error('a node of the proof has another length')
  const { isLeaf, nibbles } = unpacked(itemOf(node, 0))
  if (nibbles.some((nibble, i) => nibble !== path[depth + i])) return ABSENT
  const end = depth + nibbles.length
  if (!isLeaf) return { next: hashIn(itemOf(node, 1)), depth: end }
  if (end !== path.length) throw new Error('a leaf of the proof ends early')
  return { next: null, value: itemOf(node, 1) }
}

/** In the trie of accounts every node has 32 bytes or more, so that each stands in its parent by its hash. */
function hashIn(child: Uint8Array): string {
  if (child.length !== HASH_BYTES) throw new Error('a node of the proof names no hash')
  return `0x${Buffer.from(child).toString('hex')}`
}

/** The hex prefix of a path (Yellow Paper, appendix C). */
function unpacked(compact: Uint8Array): { readonly isLeaf: boolean; readonly nibbles: readonly number[] } {
  const [flag, ...rest] = nibblesOf(compact)
  if (flag === undefined || flag > 3) throw new Error('a path in the proof has an unknown flag')
  return { isLeaf: flag >= 2, nibbles: flag % 2 === 1 ? rest : rest.slice(1) }
}

function balanceOf(account: Uint8Array): bigint {
  const fields = RLP.decode(account)
  if (!Array.isArray(fields) || fields.length !== ACCOUNT_FIELDS) throw new Error('the proof leads to no account')
  return BigInt(`0x0${Buffer.from(itemOf(fields, 1)).toString('hex')}`)
}

function itemOf(items: readonly unknown[], index: number): Uint8Array {
  const item = items[index]
  if (!(item instanceof Uint8Array)) throw new Error('a node of the proof has a list in it')
  return item
}

function listOf(nodes: unknown): readonly Uint8Array[] {
  if (!Array.isArray(nodes) || nodes.length > MAX_NODES) throw new Error('it is no list of nodes')
  return nodes.map((node) => {
    const bytes = bytesOf(node, 'node')
    if (bytes.length > MAX_NODE_BYTES) throw new Error('a node of the proof is too long')
    return bytes
  })
}

function nibblesOf(bytes: Uint8Array): number[] {
  return [...bytes].flatMap((byte) => [byte >> 4, byte & 15])
}
