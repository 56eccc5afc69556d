/** Signatures over typed structured data (EIP-712), as wallets give and contracts recover them. */
import { TypedDataEncoder } from 'ethers/hash'
import type { RecoverableSignature } from './eip1559.ts'
import type { TypedData } from './signer.ts'

/** Yellow paper, appendix F: what `ecrecover` takes for the even and the odd y of R. */
const V_OF_PARITY = ['1b', '1c'] as const

/**
 * Signs one piece of typed data with `sign`, which is given its digest.
 *
 * @returns 65 bytes (r, s, v) in hex, v being 27 or 28
 * @throws TypeError when the message does not fit its types
 */
export function signEip712(
  { domain, types, message }: TypedData,
  sign: (digest: Uint8Array) => RecoverableSignature,
): string {
  const fields = Object.fromEntries(Object.entries(types).map(([name, list]) => [name, [...list]]))
  const digest = Buffer.from(TypedDataEncoder.hash(domain, fields, message).slice(2), 'hex')
  const { signature, recoveryId } = sign(digest)
  const v = V_OF_PARITY[recoveryId]
  // Values 2 and 3 mean that R's x overflowed the order: chance 2^-127, and contracts recover nobody from them.
  if (v === undefined) throw new RangeError('the signature has no y parity that a contract can recover from')
  return `0x${Buffer.from(signature).toString('hex')}${v}`
}
