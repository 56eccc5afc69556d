/**
 * One derived key. Its secret is private, so that neither JSON nor an inspection of the object shows it; `reveal` is for
 * what is sealed at once.
 */
import type { HDNodeWallet } from 'ethers'
import { signRecoverable } from 'tiny-secp256k1'
import { hdAccount, hdPath } from './hd-path.ts'
import type { RecoverableSignature } from './recoverable-signature.ts'

export class HdKey {
  /** EIP-55. */
  readonly address: string
  readonly #secret: Uint8Array

  constructor(address: string, secret: Uint8Array) {
    this.address = address
    this.#secret = secret
  }

  /** RFC 6979: the same digest gives the same signature. libsecp256k1 gives the lower s (EIP-2). */
  sign(digest: Uint8Array): RecoverableSignature {
    return signRecoverable(digest, this.#secret)
  }

  /** The private key, 32 bytes: a copy, for the caller to seal and to wipe. */
  reveal(): Uint8Array {
    return Uint8Array.from(this.#secret)
  }
}

/** The key of an index below an account node. @throws RangeError for an index that BIP-32 has not */
export function childKey(account: HDNodeWallet, index: number): HdKey {
  hdPath(index)
  const { address, privateKey } = account.deriveChild(index)
  return new HdKey(address, Buffer.from(privateKey.slice(2), 'hex'))
}

/**
 * The key of a wallet from its tenant's seed.
 *
 * @param entropy 16 to 32 bytes (BIP-39); without a passphrase
 */
export function hdKey(entropy: Uint8Array, index: number): HdKey {
  return childKey(hdAccount(entropy), index)
}
