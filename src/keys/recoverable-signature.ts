/** Signatures of secp256k1 from which the signer's public key can be recovered. */

/** 64 bytes (r, s) with s in the lower half of the order (EIP-2), and the parity of R's y. */
export type RecoverableSignature = { readonly signature: Uint8Array; readonly recoveryId: number }

/** Yellow paper, appendix F: the values of v for the even and the odd y of R in `ecrecover`. */
const V_OF_PARITY = ['1b', '1c'] as const

/** 65 bytes (r, s, v) in hex, v being 27 or 28: the format of wallets and contracts. */
export function signatureBytes({ signature, recoveryId }: RecoverableSignature): string {
  const v = V_OF_PARITY[recoveryId]
  // Values 2 and 3 mean that R's x overflowed the order: probability 2^-127, and contracts cannot recover a signer from
  // them.
  if (v === undefined) throw new RangeError('the signature has no y parity that a contract can recover from')
  return `0x${Buffer.from(signature).toString('hex')}${v}`
}
