/**
 * Secrets sealed under a key-encryption key. An envelope opens only with its own key, for its own holder and purpose,
 * and only if no byte was changed.
 */
import { timingSafeEqual } from 'node:crypto'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { canonicalJson } from '../core/canonical-json.ts'
import { Conflict, Unavailable } from '../core/errors.ts'
import { decrypt, encrypt } from './aes-gcm.ts'
import type { Kek } from './kek.ts'

const VERSION = 1

/**
 * The owner and purpose of a secret, bound to the ciphertext, so that an envelope cannot be used in another's place.
 * For a process's own secret (`mpc-identity`), `tenantId` is the name of the process.
 */
export type SecretId = { readonly tenantId: string; readonly purpose: string }

const BASE64 = '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
const Envelope = Type.Object(
  {
    version: Type.Literal(VERSION),
    /** The id of the key-encryption key it is sealed under. */
    kek: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    nonce: Type.String({ pattern: BASE64 }),
    ciphertext: Type.String({ pattern: BASE64 }),
    tag: Type.String({ pattern: BASE64 }),
  },
  { additionalProperties: false },
)
export type Envelope = Readonly<Static<typeof Envelope>>

/**
 * Parses an envelope from a file or a table.
 *
 * @throws Unavailable `sealed_secret_damaged` for anything but an envelope of a known version
 */
export function parseEnvelope(value: unknown, id: SecretId): Envelope {
  if (!Value.Check(Envelope, value)) throw damaged(id)
  return value
}

/** Seals a secret. Sealing the same secret twice gives different envelopes. */
export function seal(kek: Kek, id: SecretId, secret: Uint8Array): Envelope {
  const sealed = encrypt(kek, boundTo(kek.id, id), secret)
  return {
    version: VERSION,
    kek: kek.id,
    nonce: Buffer.from(sealed.nonce).toString('base64'),
    ciphertext: Buffer.from(sealed.ciphertext).toString('base64'),
    tag: Buffer.from(sealed.tag).toString('base64'),
  }
}

/**
 * Opens an envelope.
 *
 * @throws Unavailable `keystore_key_wrong` when it was sealed under another key, `sealed_secret_damaged` when it was
 *   changed. Both wait for an operator: nothing that depends on the secret may be given up because of them
 */
export function open(kek: Kek, id: SecretId, envelope: Envelope): Uint8Array {
  if (envelope.kek !== kek.id) throw wrongKek(id, envelope.kek, kek.id)
  const secret = decrypt(kek, boundTo(envelope.kek, id), {
    nonce: exactBytes(envelope.nonce, id),
    tag: exactBytes(envelope.tag, id),
    ciphertext: exactBytes(envelope.ciphertext, id),
  })
  if (secret === undefined) throw damaged(id)
  return secret
}

/** A secret that was to be created exists, or was created meanwhile. */
export function secretExists({ tenantId, purpose }: SecretId): Conflict {
  return new Conflict(
    'secret_exists',
    `The keystore got a secret ${purpose} of ${tenantId}, or another key, meanwhile: nothing was written. Run this again.`,
  )
}

/** The same secret sealed under another key, verified by opening it again: used to rotate a key-encryption key. */
export function rewrap(from: Kek, to: Kek, id: SecretId, envelope: Envelope): Envelope {
  const secret = open(from, id, envelope)
  try {
    const next = seal(to, id, secret)
    const again = open(to, id, next)
    const isSame = timingSafeEqual(again, secret)
    again.fill(0)
    if (!isSame) throw new Error('a secret changed while it was re-encrypted')
    return next
  } finally {
    secret.fill(0)
  }
}

/** For a process that holds a key which was rotated away: it must not seal another secret under it. */
export function keyRotatedAway({ tenantId, purpose }: SecretId, given: string): Unavailable {
  return new Unavailable(
    'keystore_key_wrong',
    `Cannot create the ${purpose} of ${tenantId}: the keystore is no longer encrypted with key ${given}. Restart this process with the new key.`,
  )
}

function boundTo(kekId: string, id: SecretId): Buffer {
  return Buffer.from(canonicalJson(['bursar sealed box', VERSION, kekId, id.tenantId, id.purpose]))
}

/** Decoding ignores the spare bits at the end of base64: here they must be unchanged too. */
function exactBytes(text: string, id: SecretId): Buffer {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.toString('base64') !== text) throw damaged(id)
  return bytes
}

function damaged({ tenantId, purpose }: SecretId): Unavailable {
  return new Unavailable(
    'sealed_secret_damaged',
    `The sealed ${purpose} of ${tenantId} was changed or truncated: restore it from a backup.`,
  )
}

function wrongKek({ tenantId, purpose }: SecretId, sealedUnder: string, given: string): Unavailable {
  return new Unavailable(
    'keystore_key_wrong',
    `The ${purpose} of ${tenantId} is encrypted with key ${sealedUnder}, but the configured key is ${given}: ` +
      `set KEYSTORE_KEY (or restore the key file) to the key ${sealedUnder}.`,
  )
}
