/**
 * The hashes of the Merkle tree (RFC 6962 § 2.1, the same in RFC 9162 § 2.1.1): leaf and node hashes cannot be
 * confused.
 */
import { hash as digest } from 'node:crypto'

export const HASH_BYTES = 32
const LEAF = 0x00
const NODE = 0x01
const scratch = Buffer.alloc(1 + 2 * HASH_BYTES, NODE)

/** The root of the tree without leaves: SHA-256 of the empty string. */
export const EMPTY_ROOT: Buffer = sha256(Buffer.alloc(0))

/** SHA-256 (FIPS 180-4). */
function sha256(bytes: Uint8Array | string): Buffer {
  return Buffer.from(digest('sha256', bytes, 'buffer'))
}

/** @param entry the bytes of the leaf */
export function leafHash(entry: Uint8Array | string): Buffer {
  const bytes = typeof entry === 'string' ? Buffer.from(entry, 'utf8') : entry
  const input = Buffer.allocUnsafe(1 + bytes.length)
  input[0] = LEAF
  input.set(bytes, 1)
  return sha256(input)
}

/** @param left and right 32 bytes each */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  scratch.set(left, 1)
  scratch.set(right, 1 + HASH_BYTES)
  return sha256(scratch)
}
