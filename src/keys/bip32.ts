/** Key derivation (BIP-32) on plain bytes, so that all of them can be wiped. libsecp256k1 wipes its inputs. */
import { createHmac } from 'node:crypto'
import { pointFromScalar, privateAdd } from 'tiny-secp256k1'

const KEY_BYTES = 32
/** Indexes from here on are hardened: a child key then reveals nothing about its parent. */
export const HARDENED = 2 ** 31

/** An extended private key: 32 bytes each. The holder must wipe it. */
export type ExtendedKey = { readonly key: Uint8Array; readonly chainCode: Uint8Array }

/** The master key of a seed. */
export function masterKey(seed: Uint8Array): ExtendedKey {
  const digest = createHmac('sha512', 'Bitcoin seed').update(seed).digest()
  return split(digest, (left) => Uint8Array.from(left))
}

/**
 * Derives a child key.
 *
 * @param index from 0 to 2^32 - 1
 * @throws RangeError for an index without a key, one in 2^127
 */
export function childOf({ key, chainCode }: ExtendedKey, index: number): ExtendedKey {
  const data = new Uint8Array(1 + KEY_BYTES + 4)
  if (index >= HARDENED) data.set(key, 1)
  else data.set(pointFromScalar(key, true) ?? noKey(index))
  new DataView(data.buffer).setUint32(1 + KEY_BYTES, index)
  const digest = createHmac('sha512', chainCode).update(data).digest()
  data.fill(0)
  return split(digest, (left) => privateAdd(key, left) ?? noKey(index))
}

export function wipe({ key, chainCode }: ExtendedKey): void {
  key.fill(0)
  chainCode.fill(0)
}

function split(digest: Buffer, keyOf: (left: Uint8Array) => Uint8Array): ExtendedKey {
  try {
    return { key: keyOf(digest.subarray(0, KEY_BYTES)), chainCode: Uint8Array.from(digest.subarray(KEY_BYTES)) }
  } finally {
    digest.fill(0)
  }
}

function noKey(index: number): never {
  throw new RangeError(`index ${index} has no valid key (BIP-32): use the next index`)
}
