/** Recovers the signer of a signature; every signature is checked this way before use. */
import { recoverAddress } from 'ethers/transaction'

const SIGNATURE = /^0x[0-9a-f]{128}1[bc]$/
/** EIP-2: of the two values of s that both verify, only the lower one is valid. */
export const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/**
 * The address whose key signed a digest.
 *
 * @param digest 32 bytes in hex
 * @param signature 65 bytes (r, s, v) in lower-case hex, v being 27 or 28
 * @returns with its EIP-55 checksum; `null` when the bytes are not a valid signature, or s is in the upper half
 */
export function recoverSigner(digest: string, signature: string): string | null {
  if (!SIGNATURE.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > HALF_ORDER) return null
  try {
    return recoverAddress(digest, signature)
  } catch {
    // No point of the curve has this r.
    return null
  }
}
