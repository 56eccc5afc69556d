/**
 * The parts of the tree that make up a root or a proof. A proof is a list of ranges of leaves; a range consists of full
 * subtrees, which never change once complete. Sizes and indexes are integers up to 2^53.
 */
import { EMPTY_ROOT, nodeHash } from './hashes.ts'

/** The leaves from `from` (inclusive) to `to` (exclusive). */
export type Range = { readonly from: number; readonly to: number }

/** A full subtree of 2^level leaves; its first leaf has index · 2^level. */
export type Node = { readonly level: number; readonly index: number }

/** Returns the hash of a full subtree. */
export type HashOf = (node: Node) => Uint8Array

/**
 * PATH of RFC 6962 § 2.1.1: the siblings on the way from a leaf to the root, nearest first.
 *
 * @param index of the leaf, less than `size`
 */
export function inclusionRanges(index: number, size: number): Range[] {
  return path(index, { from: 0, to: size })
}

/**
 * PROOF of RFC 6962 § 2.1.2: shows that the tree of `first` leaves is a prefix of the tree of `second` leaves.
 *
 * @param first at least 1 and at most `second`
 */
export function consistencyRanges(first: number, second: number): Range[] {
  return subproof(first, { from: 0, to: second }, true)
}

/** The full subtrees of a range whose start is aligned to its size, leftmost and largest first. */
export function nodesOf({ from, to }: Range): Node[] {
  const nodes: Node[] = []
  let start = from
  while (start < to) {
    let level = 0
    while (start % 2 ** (level + 1) === 0 && start + 2 ** (level + 1) <= to) level += 1
    nodes.push({ level, index: start / 2 ** level })
    start += 2 ** level
  }
  return nodes
}

/** MTH of RFC 6962 § 2.1 of a range. */
export function hashOfRange(range: Range, hashOf: HashOf): Buffer {
  const hashes = nodesOf(range).map(hashOf)
  const last = hashes.pop()
  if (last === undefined) return EMPTY_ROOT
  return Buffer.from(hashes.reduceRight((right, left) => nodeHash(left, right), last))
}

function path(index: number, { from, to }: Range): Range[] {
  if (to - from <= 1) return []
  const middle = from + largestPowerBelow(to - from)
  const left = { from, to: middle }
  const right = { from: middle, to }
  return index < middle ? [...path(index, left), right] : [...path(index, right), left]
}

function subproof(first: number, { from, to }: Range, isWhole: boolean): Range[] {
  if (first === to - from) return isWhole ? [] : [{ from, to }]
  const half = largestPowerBelow(to - from)
  const left = { from, to: from + half }
  const right = { from: from + half, to }
  return first <= half ? [...subproof(first, left, isWhole), right] : [...subproof(first - half, right, false), left]
}

/** The largest power of two less than `size`, which is at least 2. */
function largestPowerBelow(size: number): number {
  let power = 1
  while (power * 2 < size) power *= 2
  return power
}
