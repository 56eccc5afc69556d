/**
 * The secrets of webhooks. The API shows a new one once and keeps only a copy that is sealed to the senders: neither it
 * nor somebody who reads the database can sign a delivery later.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { InvalidSetting, Unavailable, ValidationFailed } from '../core/errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import { RECIPIENT_RULE, requireRecipient, sealTo } from '../keys/age.ts'
import type { SignatureVersion } from './events.ts'
import type { SigningKeys } from './signature.ts'

/** Standard Webhooks 1.0.0: 24 to 64 bytes. */
const SECRET_BYTES = 32

/** The keys of a webhook as its owner sees them, once. */
export type NewSecret = {
  /** `whsec_` and the secret in base64. */
  readonly secret: string
  /** `whpk_` and the Ed25519 public key in base64; `null` without `v1a`. */
  readonly publicKey: string | null
  /** What is sealed to the senders. */
  readonly plaintext: Uint8Array
}

/** JSON in a sealed secret. Base64; the private key is a PKCS #8 document (RFC 5958). */
type Contents = { readonly secret: string; readonly ed25519: string | null }

export function createSecret(signatures: readonly SignatureVersion[]): NewSecret {
  const secret = randomBytes(SECRET_BYTES).toString('base64')
  const pair = signatures.includes('v1a') ? generateKeyPairSync('ed25519') : null
  const contents: Contents = {
    secret,
    ed25519: pair?.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64') ?? null,
  }
  return {
    secret: `whsec_${secret}`,
    publicKey: pair === null ? null : `whpk_${publicBytes(pair.publicKey)}`,
    plaintext: Buffer.from(JSON.stringify(contents)),
  }
}

/** The 32 bytes of the key (RFC 8032), without the header of its document. */
function publicBytes(key: KeyObject): string {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')
}

/** @throws InvalidSetting for a recipient with a wrong checksum */
export async function requireSealing({ config }: Pick<Context, 'config'>): Promise<void> {
  const { recipient } = config.webhooks
  if (recipient === null) return
  try {
    await requireRecipient(recipient, 'WEBHOOK_RECIPIENT')
  } catch (error) {
    if (error instanceof ValidationFailed) throw new InvalidSetting('WEBHOOK_RECIPIENT', RECIPIENT_RULE)
    throw error
  }
}

/**
 * Seals a secret to the senders (https://age-encryption.org/v1): what the API sealed, it cannot open.
 *
 * @returns an age file in base64
 * @throws Unavailable `webhooks_not_configured`
 */
export async function sealSecret({ config }: Pick<Context, 'config'>, plaintext: Uint8Array): Promise<string> {
  const { recipient } = config.webhooks
  if (recipient === null) throw notConfigured()
  return Buffer.from(await sealTo([recipient], plaintext)).toString('base64')
}

function notConfigured(): Unavailable {
  return new Unavailable(
    'webhooks_not_configured',
    'Webhooks are disabled: WEBHOOK_RECIPIENT is not set. Ask the operator to set it for the API, and to start a webhook sender.',
  )
}

/**
 * Keeps a secret under its id. It signs nothing until the log names it.
 *
 * @param sealed text that only the senders can open
 * @param now ISO 8601
 */
export async function keepSecret(
  { pool }: Pick<Context, 'pool'>,
  webhookId: string,
  { secretId, sealed, now }: { readonly secretId: string; readonly sealed: string; readonly now: string },
): Promise<void> {
  await pool.query({
    name: 'add_webhook_secret',
    text: 'INSERT INTO webhook_secrets (secret_id, webhook_id, sealed, created_at) VALUES ($1, $2, $3, $4)',
    values: [secretId, webhookId, sealed, now],
  })
}

export type OpenSealed = (sealed: string) => Promise<Uint8Array>

/** A webhook has no secret, or this sender cannot open it. */
export class SecretUnusable extends Error {
  readonly code = 'secret_unusable'
}

/** Opening a secret takes milliseconds: those of so many webhooks are kept in memory, for as long as nothing about them changes. */
const MAX_OPENED = 1_000

/**
 * The keys that a delivery is signed with now: the newest, and those before it until their overlap ends.
 *
 * @throws SecretUnusable; database errors
 */
export type SigningKeysOf = (webhook: { readonly webhookId: string; readonly version: number }) => Promise<SigningKeys>

export function createSigningKeysOf({
  pool,
  open,
  clock,
}: {
  readonly pool: Pool
  readonly open: OpenSealed
  readonly clock: () => number
}): SigningKeysOf {
  const opened = new LRUCache<string, readonly OpenedSecret[]>({ max: MAX_OPENED })
  async function openAll(webhookId: string): Promise<readonly OpenedSecret[]> {
    const { rows } = await pool.query<Pick<Row<'webhook_secrets'>, 'sealed'> & { readonly expires_at: Date | null }>({
      name: 'webhook_secrets',
      text: `SELECT s.sealed, expires_at FROM webhooks AS w,
                    ROWS FROM (jsonb_to_recordset(w.secrets) AS (secret_id text, expires_at timestamptz)) WITH ORDINALITY AS named(secret_id, expires_at, n)
               JOIN webhook_secrets AS s USING (secret_id)
              WHERE w.webhook_id = $1 AND s.webhook_id = $1 AND (expires_at IS NULL OR expires_at > $2) ORDER BY n`,
      values: [webhookId, new Date(clock())],
    })
    if (rows.length === 0) throw new SecretUnusable('the webhook has no secret: rotate it')
    return Promise.all(rows.map(async (row) => readContents(await open(row.sealed), row.expires_at)))
  }
  return async ({ webhookId, version }) => {
    const key = `${webhookId} ${version}`
    const all = opened.get(key) ?? (await openAll(webhookId))
    opened.set(key, all)
    const now = clock()
    const current = all.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now)
    return {
      secrets: current.map(({ secret }) => secret),
      ed25519: current.flatMap(({ ed25519 }) => ed25519 ?? []),
    }
  }
}

type OpenedSecret = {
  readonly secret: Uint8Array
  readonly ed25519: KeyObject | null
  readonly expiresAt: Date | null
}

function readContents(plaintext: Uint8Array, expiresAt: Date | null): OpenedSecret {
  const { secret, ed25519 } = JSON.parse(Buffer.from(plaintext).toString('utf8')) as Contents
  return {
    secret: Buffer.from(secret, 'base64'),
    ed25519: ed25519 === null ? null : readPrivateKey(ed25519),
    expiresAt,
  }
}

function readPrivateKey(base64: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'pkcs8' })
}
