/**
 * The file format of a share: public facts, and the share sealed under the party's own key. Both are bound together, so
 * that a changed or misplaced file cannot be opened.
 *
 * Binary, unlike the sealed box: a share of 150 kB takes 150 kB instead of 200, and opens in 0.15 ms instead of 9.
 */
import { timingSafeEqual } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { canonicalJson } from '../../core/canonical-json.ts'
import { Unavailable } from '../../core/errors.ts'
import { decrypt, encrypt, NONCE_BYTES, TAG_BYTES } from '../aes-gcm.ts'
import type { Kek } from '../kek.ts'

/** The first bytes of every share file; the digit is the version. */
const MAGIC = Buffer.from('bursar mpc share 1\n', 'latin1')
const LENGTH_BYTES = 4
const MAX_HEADER_BYTES = 64 * 1024

/** The public facts of a share, readable by operators. */
const ShareFacts = Type.Object(
  {
    threshold: Type.Integer({ minimum: 1 }),
    parties: Type.Integer({ minimum: 1 }),
    publicKey: Type.String(),
    address: Type.String(),
  },
  { additionalProperties: false },
)
export type ShareFacts = Readonly<Static<typeof ShareFacts>>

const Header = Type.Object(
  {
    keyId: Type.String(),
    party: Type.Integer(),
    generation: Type.String(),
    /** The id of the key-encryption key it is sealed under. */
    kek: Type.String(),
    facts: ShareFacts,
  },
  { additionalProperties: false },
)

/** Identifies a share. */
export type ShareId = { readonly keyId: string; readonly party: number; readonly generation: string }
export type StoredShare = { readonly share: Uint8Array; readonly facts: ShareFacts }

/**
 * Magic, header length, header as JSON; then nonce, tag and ciphertext. Everything before the nonce is authenticated.
 */
export function sealShare(kek: Kek, { keyId, party, generation }: ShareId, { share, facts }: StoredShare): Uint8Array {
  const json = Buffer.from(`${canonicalJson({ keyId, party, generation, kek: kek.id, facts })}\n`)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(json.length)
  const header = Buffer.concat([MAGIC, length, json])
  const { nonce, tag, ciphertext } = encrypt(kek, header, share)
  return Buffer.concat([header, nonce, tag, ciphertext])
}

/**
 * @throws Unavailable `keystore_key_wrong` when it was sealed under another key, `sealed_secret_damaged` when it was
 *   changed or belongs to another key, party or generation
 */
export function openShare(kek: Kek, id: ShareId, file: Uint8Array): StoredShare {
  const { bytes, header, bodyAt } = readHeader(id, file)
  if (header.kek !== kek.id) throw wrongKek(id, header.kek, kek.id)
  const tagAt = bodyAt + NONCE_BYTES
  const share = decrypt(kek, bytes.subarray(0, bodyAt), {
    nonce: bytes.subarray(bodyAt, tagAt),
    tag: bytes.subarray(tagAt, tagAt + TAG_BYTES),
    ciphertext: bytes.subarray(tagAt + TAG_BYTES),
  })
  if (share === undefined) throw damaged(id)
  return { share, facts: header.facts }
}

/**
 * The same share sealed under another key, verified by opening it again.
 *
 * @returns `null` when it is sealed under that key already
 * @throws Unavailable as `openShare`
 */
export function resealShare(from: Kek, to: Kek, id: ShareId, file: Uint8Array): Uint8Array | null {
  if (readHeader(id, file).header.kek === to.id) return null
  const stored = openShare(from, id, file)
  try {
    const next = sealShare(to, id, stored)
    const again = openShare(to, id, next).share
    const isSame = again.length === stored.share.length && timingSafeEqual(again, stored.share)
    again.fill(0)
    if (!isSame) throw new Error('a share changed while it was re-encrypted')
    return next
  } finally {
    stored.share.fill(0)
  }
}

/** The plain header before the nonce; trusted only after the share was opened. */
function readHeader(id: ShareId, file: Uint8Array) {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength)
  const bodyAt =
    bytes.length < MAGIC.length + LENGTH_BYTES ? 0 : MAGIC.length + LENGTH_BYTES + bytes.readUInt32BE(MAGIC.length)
  const wellFormed =
    bytes.subarray(0, MAGIC.length).equals(MAGIC) &&
    bodyAt <= MAX_HEADER_BYTES &&
    bodyAt + NONCE_BYTES + TAG_BYTES <= bytes.length
  if (!wellFormed) throw damaged(id)
  const header = parseJson(bytes.toString('utf8', MAGIC.length + LENGTH_BYTES, bodyAt))
  if (!Value.Check(Header, header)) throw damaged(id)
  if (header.keyId !== id.keyId || header.party !== id.party || header.generation !== id.generation) {
    throw damaged(
      id,
      `: it is the share of party ${header.party} of key ${header.keyId}, generation ${header.generation}`,
    )
  }
  return { bytes, header, bodyAt }
}

/** Text that is not JSON is not a header. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function damaged({ keyId, party, generation }: ShareId, what = ''): Unavailable {
  return new Unavailable(
    'sealed_secret_damaged',
    `The file of the share of party ${party} of key ${keyId}, generation ${generation}, was changed, truncated or replaced${what}. ` +
      'Restore it from a backup, or refresh the key so that this party gets a new share.',
  )
}

function wrongKek({ keyId, party }: ShareId, sealedUnder: string, given: string): Unavailable {
  return new Unavailable(
    'keystore_key_wrong',
    `The share of party ${party} of key ${keyId} is encrypted with key ${sealedUnder}, but the configured key is ${given}: ` +
      `give this party the key ${sealedUnder}.`,
  )
}
