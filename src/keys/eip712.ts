/** Signatures of typed structured data (EIP-712) in the format of wallets and contracts. */
import { TypedDataEncoder } from 'ethers/hash'
import { type RecoverableSignature, signatureBytes } from './recoverable-signature.ts'
import type { TypedData } from './signer.ts'

/** The digest of typed data. @throws TypeError when the message does not fit its types */
export function eip712Digest({ domain, types, message }: TypedData): Uint8Array {
  const fields = Object.fromEntries(Object.entries(types).map(([name, list]) => [name, [...list]]))
  return Buffer.from(TypedDataEncoder.hash(domain, fields, message).slice(2), 'hex')
}

/**
 * Signs one piece of typed data with `sign`, which gets its digest.
 *
 * @returns 65 bytes (r, s, v) in hex, v being 27 or 28
 * @throws TypeError when the message does not fit its types
 */
export function signEip712(typedData: TypedData, sign: (digest: Uint8Array) => RecoverableSignature): string {
  return signatureBytes(sign(eip712Digest(typedData)))
}
