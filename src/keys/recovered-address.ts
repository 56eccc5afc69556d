/** The address of a recoverable signature, by compiled code: for large numbers of signatures. */
import { keccak256 } from 'ethers'
import { recover } from './libsecp256k1.ts'

/**
 * @param digest 32 bytes
 * @param signature 64 bytes (r, s)
 * @returns in lower case; `null` when r or s is out of range
 */
export function recoveredAddress(digest: Uint8Array, signature: Uint8Array, parity: 0 | 1): string | null {
  if (signature.length !== 64) return null
  try {
    return `0x${keccak256(recover(digest, signature, parity).subarray(1)).slice(-40)}`
  } catch {
    return null
  }
}
