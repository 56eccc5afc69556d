/** Checks proofs against roots, without access to the tree (RFC 9162 § 2.1.3.2 and § 2.1.4.2). */
import { nodeHash } from './hashes.ts'

/**
 * Whether a leaf is at the index of the proof in the tree with that root.
 *
 * @param leaf the leaf's hash
 * @param path siblings, nearest first
 */
export function includes(
  { index, size, root }: { readonly index: number; readonly size: number; readonly root: Uint8Array },
  leaf: Uint8Array,
  path: readonly Uint8Array[],
): boolean {
  if (!isSize(index) || !isSize(size) || index >= size) return false
  let place = index
  let last = size - 1
  let hash: Buffer = Buffer.from(leaf)
  for (const sibling of path) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      hash = nodeHash(sibling, hash)
      while (place % 2 === 0 && place !== 0) {
        place /= 2
        last = Math.floor(last / 2)
      }
    } else {
      hash = nodeHash(hash, sibling)
    }
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && hash.equals(root)
}

/** A tree as identified by a checkpoint. */
export type TreeHead = { readonly size: number; readonly root: Uint8Array }

/** Whether the first tree is a prefix of the second: nothing in it was changed, removed or inserted. */
export function extendsTree(first: TreeHead, second: TreeHead, proof: readonly Uint8Array[]): boolean {
  if (!isSize(first.size) || !isSize(second.size) || first.size > second.size) return false
  if (first.size === second.size) return proof.length === 0 && Buffer.from(first.root).equals(second.root)
  if (first.size === 0) return proof.length === 0
  // When the first tree is a full subtree, the proof starts with its root, which is known and therefore omitted.
  const hashes = isPowerOfTwo(first.size) ? [first.root, ...proof] : [...proof]
  const [seed, ...rest] = hashes
  if (seed === undefined) return false
  let place = first.size - 1
  let last = second.size - 1
  while (place % 2 === 1) {
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  let old: Buffer = Buffer.from(seed)
  let now: Buffer = Buffer.from(seed)
  for (const sibling of rest) {
    if (last === 0) return false
    if (place % 2 === 1 || place === last) {
      old = nodeHash(sibling, old)
      now = nodeHash(sibling, now)
      while (place % 2 === 0 && place !== 0) {
        place /= 2
        last = Math.floor(last / 2)
      }
    } else {
      now = nodeHash(now, sibling)
    }
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && old.equals(first.root) && now.equals(second.root)
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isPowerOfTwo(size: number): boolean {
  return 2 ** Math.round(Math.log2(size)) === size
}
