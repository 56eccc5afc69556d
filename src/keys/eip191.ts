/** Signatures of messages (EIP-191, version 0x45), known as `personal_sign` in wallets. */
import { hashMessage } from 'ethers/hash'
import { type RecoverableSignature, signatureBytes } from './recoverable-signature.ts'

/** The digest of a message: Keccak-256 of the prefix, the length in bytes and the bytes. */
export function eip191Digest(message: Uint8Array): Uint8Array {
  return Buffer.from(hashMessage(message).slice(2), 'hex')
}

/**
 * Signs one message with `sign`, which gets its digest.
 *
 * @returns 65 bytes (r, s, v) in hex, v being 27 or 28
 */
export function signEip191(message: Uint8Array, sign: (digest: Uint8Array) => RecoverableSignature): string {
  return signatureBytes(sign(eip191Digest(message)))
}
