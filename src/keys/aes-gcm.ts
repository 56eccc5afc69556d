/**
 * AES-256-GCM (NIST SP 800-38D) under a key-encryption key, with a fresh 96-bit nonce each time and the full tag. This
 * is the only code that encrypts data at rest. The binding data is authenticated with it.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Kek } from './kek.ts'

const CIPHER = 'aes-256-gcm'
export const NONCE_BYTES = 12
export const TAG_BYTES = 16

export type Sealed = { readonly nonce: Uint8Array; readonly tag: Uint8Array; readonly ciphertext: Uint8Array }

/** @param boundTo authenticated, not encrypted: decryption needs exactly these bytes */
export function encrypt(kek: Kek, boundTo: Uint8Array, secret: Uint8Array): Sealed {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, kek.key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(boundTo)
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()])
  return { nonce, tag: cipher.getAuthTag(), ciphertext }
}

/** @returns the secret, for the caller to wipe; undefined when the key, the binding data or any sealed bit differs */
export function decrypt(kek: Kek, boundTo: Uint8Array, { nonce, tag, ciphertext }: Sealed): Uint8Array | undefined {
  // GCM would accept a tag of four bytes, which can be guessed.
  if (nonce.length !== NONCE_BYTES || tag.length !== TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, kek.key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundTo)
  decipher.setAuthTag(tag)
  const secret = decipher.update(ciphertext)
  try {
    decipher.final()
  } catch {
    secret.fill(0)
    return undefined
  }
  return secret
}
