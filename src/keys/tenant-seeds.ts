/**
 * The seed of each tenant: 256 bits of entropy, the 24 words of BIP-39, created once and sealed immediately. Every hd
 * wallet of the tenant is derived from it, so a new seed is never created when one exists but cannot be opened.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Conflict, Unavailable } from '../core/errors.ts'
import type { Kek } from './kek.ts'
import type { Keystore } from './keystore.ts'
import { type Envelope, open, type SecretId, seal } from './sealed-box.ts'

const ENTROPY_BYTES = 32
const PURPOSE = 'hd-seed'

export type TenantSeeds = {
  /**
   * The caller wipes it after use. @throws Unavailable `seed_missing` when the tenant has none, or why it cannot be
   * opened
   */
  readonly load: (tenantId: string) => Promise<Uint8Array>
  /** The tenant's seed, created if it has none, for the caller to wipe. Concurrent processes get the same one. */
  readonly loadOrCreate: (tenantId: string) => Promise<Uint8Array>
}

/**
 * Opens the seeds of a keystore.
 *
 * @throws Unavailable `keystore_key_wrong` when any secret is sealed under another key: otherwise new seeds would be
 *   sealed under the wrong one
 */
export async function openTenantSeeds({ keystore, kek }: { keystore: Keystore; kek: Kek }): Promise<TenantSeeds> {
  const foreign = (await keystore.kekIds()).filter((id) => id !== kek.id)
  if (foreign.length > 0) {
    throw new Unavailable(
      'keystore_key_wrong',
      `The keystore is encrypted with key ${foreign.join(', ')}, but the configured key is ${kek.id}: ` +
        'set KEYSTORE_KEY (or restore the key file) to the key of the keystore.',
    )
  }

  const idOf = (tenantId: string): SecretId => ({ tenantId, purpose: PURPOSE })
  function unseal(id: SecretId, envelope: Envelope): Uint8Array {
    const entropy = open(kek, id, envelope)
    if (entropy.length === ENTROPY_BYTES) return entropy
    entropy.fill(0)
    throw new RangeError('the sealed seed has the wrong length')
  }

  function sealNew(id: SecretId): Envelope {
    const entropy = randomBytes(ENTROPY_BYTES)
    try {
      return seal(kek, id, entropy)
    } finally {
      entropy.fill(0)
    }
  }

  return {
    async load(tenantId) {
      const id = idOf(tenantId)
      const envelope = await keystore.read(id)
      if (envelope === undefined) {
        throw new Unavailable(
          'seed_missing',
          `The keystore has no seed of tenant ${tenantId}: check that this is the keystore that created its wallets.`,
        )
      }
      return unseal(id, envelope)
    },

    async loadOrCreate(tenantId) {
      const id = idOf(tenantId)
      return unseal(id, (await keystore.read(id)) ?? (await keystore.createOnce(id, sealNew(id))))
    },
  }
}

/**
 * Restores seeds from elsewhere, by tenant: all of them or none. An existing seed is never replaced.
 *
 * @returns the tenants whose seeds were restored; the others had theirs already
 * @throws Conflict `seed_differs` when a tenant has another one; Unavailable when that one cannot be opened. Nothing is
 *   written then. Conflict `seed_created` when another process created one at the same moment: it stays, the others are
 *   restored
 */
export async function restoreSeeds(
  { keystore, kek }: { readonly keystore: Keystore; readonly kek: Kek },
  seeds: ReadonlyMap<string, Uint8Array>,
): Promise<readonly string[]> {
  const missing: { readonly id: SecretId; readonly envelope: Envelope }[] = []
  for (const [tenantId, entropy] of seeds) {
    if (entropy.length !== ENTROPY_BYTES) throw new RangeError('the seed has the wrong length')
    const id = { tenantId, purpose: PURPOSE }
    const stored = await keystore.read(id)
    if (stored === undefined) missing.push({ id, envelope: seal(kek, id, entropy) })
    else if (!isSame(open(kek, id, stored), entropy))
      throw new Conflict(
        'seed_differs',
        `The keystore has a different seed of tenant ${tenantId}, and wallets may depend on it: it was not replaced, and no seed was restored.`,
      )
  }
  await keystore.createAll(missing)
  const tenants = missing.map(({ id }) => id.tenantId)
  const overtaken: string[] = []
  for (const { id } of missing) {
    const stored = await keystore.read(id)
    const entropy = seeds.get(id.tenantId)
    if (stored === undefined || entropy === undefined || !isSame(open(kek, id, stored), entropy))
      overtaken.push(id.tenantId)
  }
  if (overtaken.length > 0) throw seedCreated(overtaken, tenants)
  return tenants
}

/** Wipes the first one. */
function isSame(there: Uint8Array, entropy: Uint8Array): boolean {
  const same = there.length === entropy.length && timingSafeEqual(there, entropy)
  there.fill(0)
  return same
}

/** A signer created a wallet of a new tenant between the check and the write. */
function seedCreated(overtaken: readonly string[], wanted: readonly string[]): Conflict {
  const restored = wanted.filter((tenantId) => !overtaken.includes(tenantId))
  const rest =
    restored.length === 0
      ? 'No seed was restored.'
      : `The seeds of these tenants were restored: ${restored.join(', ')}.`
  return new Conflict(
    'seed_created',
    `Another process created a different seed at the same moment, for ${overtaken.join(', ')}: it was not replaced, and new wallets may depend on it. ` +
      `${rest} Stop the signers before a restore.`,
  )
}

/** The tenants that have a seed in a keystore, sorted. */
export async function tenantsWithSeeds(keystore: Pick<Keystore, 'list'>): Promise<readonly string[]> {
  const ids = await keystore.list()
  return ids.filter(({ purpose }) => purpose === PURPOSE).map(({ tenantId }) => tenantId)
}
