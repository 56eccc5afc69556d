/** The root of a list, as headers have it: of the Merkle Patricia trie of its items by RLP of their index. */
import { RLP } from '@ethereumjs/rlp'
import { fastKeccak } from './fast-keccak.ts'

type Rlp = Uint8Array | Rlp[]
type Leaf = { readonly path: readonly number[]; readonly value: Uint8Array }

const EMPTY = new Uint8Array()
/** Of a list without items. */
export const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

export function orderedRoot(items: readonly Uint8Array[]): string {
  if (items.length === 0) return EMPTY_ROOT
  const leaves = items.map((value, index) => ({ path: nibblesOf(RLP.encode(index)), value }))
  return keccakHex(RLP.encode(trieNode(leaves, 0)))
}

export function keccakHex(data: Uint8Array): string {
  return `0x${Buffer.from(fastKeccak(data)).toString('hex')}`
}

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
  return [...below.map((some) => (some.length === 0 ? EMPTY : reference(trieNode(some, depth + 1)))), EMPTY]
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
