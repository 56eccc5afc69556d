/**
 * One derived key. Its secret is a private field, so that neither JSON nor object inspection shows it; `reveal` is for
 * secrets that are sealed immediately.
 */
import { getAddress, keccak256 } from 'ethers'
import { pointFromScalar } from 'tiny-secp256k1'
import { type HdAccount, hdAccount } from './hd-path.ts'
import { signRecoverable } from './libsecp256k1.ts'
import type { RecoverableSignature } from './recoverable-signature.ts'

export class HdKey {
  /** EIP-55. */
  readonly address: string
  readonly #secret: Uint8Array

  /** @param secret 32 bytes; ownership passes to this object */
  constructor(secret: Uint8Array) {
    this.address = addressOf(secret)
    this.#secret = secret
  }

  /** Deterministic (RFC 6979). libsecp256k1 returns the lower s (EIP-2). */
  sign(digest: Uint8Array): RecoverableSignature {
    return signRecoverable(digest, this.#secret)
  }

  /** Later calls of `sign` fail: the library refuses a key of zeros. */
  wipe(): void {
    this.#secret.fill(0)
  }

  /** A copy of the private key, 32 bytes, for the caller to seal and wipe. */
  reveal(): Uint8Array {
    return Uint8Array.from(this.#secret)
  }
}

/** The key of an index below an account. @throws RangeError for an index that BIP-32 does not define */
export function childKey(account: HdAccount, index: number): HdKey {
  return new HdKey(account.keyAt(index))
}

/**
 * The key of a wallet, derived from its tenant's seed.
 *
 * @param entropy 16 to 32 bytes (BIP-39), used without a passphrase
 */
export function hdKey(entropy: Uint8Array, index: number): HdKey {
  const account = hdAccount(entropy)
  try {
    return childKey(account, index)
  } finally {
    account.wipe()
  }
}

/** The last 20 bytes of the Keccak-256 of the public key (yellow paper, appendix F), with its EIP-55 checksum. */
function addressOf(secret: Uint8Array): string {
  const point = pointFromScalar(secret, false)
  if (point === null) throw new RangeError('the bytes are not a private key')
  return getAddress(`0x${keccak256(point.subarray(1)).slice(-40)}`)
}
