/**
 * Signs with libsecp256k1 and recovers signers: as machine code where the optional package `secp256k1` has a build for
 * this platform, otherwise as WebAssembly. Both give the same bytes.
 */
import { createRequire } from 'node:module'
import * as webAssembly from 'tiny-secp256k1'
import type { RecoverableSignature } from './recoverable-signature.ts'

export type Libsecp256k1 = {
  /**
   * Deterministic (RFC 6979); the lower s (EIP-2).
   *
   * @param digest 32 bytes
   * @param secret 32 bytes
   * @throws Error when the secret is no private key, such as one that was wiped
   */
  readonly signRecoverable: (digest: Uint8Array, secret: Uint8Array) => RecoverableSignature
  /**
   * The public key of a signature, 65 bytes.
   *
   * @param digest 32 bytes
   * @param signature 64 bytes (r, s)
   * @throws Error when there is none
   */
  readonly recover: (digest: Uint8Array, signature: Uint8Array, recoveryId: number) => Uint8Array
}

/** What is used of the package's native build; its JavaScript is never loaded. */
type Bindings = {
  readonly ecdsaSign: (digest: Uint8Array, secret: Uint8Array) => { signature: Uint8Array; recid: number }
  readonly ecdsaRecover: (s: Uint8Array, recid: number, digest: Uint8Array, compressed: boolean) => Uint8Array
}

export const asWebAssembly: Libsecp256k1 = {
  signRecoverable: webAssembly.signRecoverable,
  recover(digest, signature, recoveryId) {
    if (recoveryId < 0 || recoveryId > 3) throw new RangeError('the recovery id is from 0 to 3')
    const key = webAssembly.recover(digest, signature, recoveryId as webAssembly.RecoveryIdType, false)
    if (key === null) throw new RangeError('no key made this signature')
    return key
  },
}

/** `null` on a platform without a build. */
export const asMachineCode: Libsecp256k1 | null = nativeBuild()

export const { signRecoverable, recover } = asMachineCode ?? asWebAssembly

function nativeBuild(): Libsecp256k1 | null {
  let bindings: Bindings
  try {
    bindings = createRequire(import.meta.url)('secp256k1/bindings')
  } catch {
    return null // The package or its build for this platform is missing: it is optional.
  }
  return {
    signRecoverable(digest, secret) {
      const { signature, recid } = bindings.ecdsaSign(digest, secret)
      return { signature, recoveryId: recid }
    },
    recover: (digest, signature, recoveryId) => bindings.ecdsaRecover(signature, recoveryId, digest, false),
  }
}
