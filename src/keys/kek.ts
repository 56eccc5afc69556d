/**
 * The key-encryption key: 256 bits that seal every secret of the keystore. A `KeyObject`, which neither JSON nor
 * `console.log` shows.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { InvalidSetting } from '../core/errors.ts'

const KEK_BYTES = 32
const BASE64_OF_32_BYTES = /^[A-Za-z0-9+/]{43}=$/

export type Kek = {
  /** Identifies the key without revealing anything about it; part of every envelope. */
  readonly id: string
  readonly key: KeyObject
}

function createKek(bytes: Uint8Array): Kek {
  const id = createHmac('sha256', bytes).update('bursar key-encryption key id').digest('hex').slice(0, 16)
  return { id, key: createSecretKey(bytes) }
}

/**
 * The key encoded in base64 (RFC 4648, padded), or undefined when the text does not hold exactly 32 bytes. The bytes
 * are wiped; the text cannot be.
 */
export function decodeKek(text: string): Kek | undefined {
  const bytes = Buffer.from(text, 'base64')
  try {
    return BASE64_OF_32_BYTES.test(text) && bytes.toString('base64') === text ? createKek(bytes) : undefined
  } finally {
    bytes.fill(0)
  }
}

/** A new key as text, for a file. */
export function makeKekText(): string {
  const bytes = randomBytes(KEK_BYTES)
  try {
    return bytes.toString('base64')
  } finally {
    bytes.fill(0)
  }
}

/**
 * Reads the key from its setting.
 *
 * @throws InvalidSetting naming the setting and the rule, never the value
 */
export function parseKek(text: string, setting = 'KEYSTORE_KEY'): Kek {
  const kek = decodeKek(text)
  if (kek === undefined) {
    throw new InvalidSetting(
      setting,
      'must be 32 bytes in base64 (44 characters): create one with "openssl rand -base64 32".',
    )
  }
  return kek
}
