/**
 * The signature over a kit's manifest. Its Ed25519 key (RFC 8032) follows from the key-encryption key of whoever makes the kit, so that
 * nothing more has to be kept, and a keystore that gets its seeds back under the same key knows its own kits.
 *
 * Invariant: nobody without that key-encryption key can sign. A recipient is public, so a sealed part alone proves nothing.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson } from '../../core/canonical-json.ts'
import type { Kek } from '../../keys/kek.ts'
import type { Manifest } from './format.ts'

const CONTEXT = 'bursar recovery kit signature 1'
const SEED_BYTES = 32
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export type KitSigner = {
  /** 64 hex digits. */
  readonly key: string
  readonly sign: (manifest: Manifest) => Manifest
}

/** Whether the signature is there and right; not whether its key is trusted. */
export type Signed = { readonly state: 'signed'; readonly key: string } | { readonly state: 'unsigned' | 'broken' }

export function kitSigner({ key: kek }: Kek): KitSigner {
  const seed = Buffer.from(hkdfSync('sha256', kek, Buffer.alloc(0), CONTEXT, SEED_BYTES))
  const der = Buffer.concat([PRIVATE_PREFIX, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  for (const secret of [seed, der]) secret.fill(0)
  const key = createPublicKey(privateKey)
    .export({ format: 'der', type: 'spki' })
    .subarray(PUBLIC_PREFIX.length)
    .toString('hex')
  return {
    key,
    sign: (manifest) => ({
      ...manifest,
      signature: { key, value: sign(null, signedBytes(manifest), privateKey).toString('hex') },
    }),
  }
}

/** A manifest that names a kit and has no signature is one whose signature was removed. */
export function signedState(manifest: Manifest): Signed {
  const { signature, kit_id: kitId } = manifest
  if (signature === undefined) return { state: kitId === undefined ? 'unsigned' : 'broken' }
  const key = createPublicKey({
    key: Buffer.concat([PUBLIC_PREFIX, Buffer.from(signature.key, 'hex')]),
    format: 'der',
    type: 'spki',
  })
  const isRight = kitId !== undefined && verifies(manifest, key, Buffer.from(signature.value, 'hex'))
  return isRight ? { state: 'signed', key: signature.key } : { state: 'broken' }
}

/** Members that no kit has, such as a fraction or thousands of levels, have no canonical bytes: nobody signed them. */
function verifies(manifest: Manifest, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify(null, signedBytes(manifest), key, signature)
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return false
    throw error
  }
}

function signedBytes({ signature: _, ...rest }: Manifest): Buffer {
  return Buffer.from(`${CONTEXT}\n${canonicalJson(rest)}`)
}
