/**
 * A keystore in the table `sealed_keys`: shared by any number of signer machines; the database sees only ciphertext.
 */
import type { Pool, PoolClient } from 'pg'
import { canonicalJson } from '../core/canonical-json.ts'
import type { Kek } from './kek.ts'
import type { Keystore } from './keystore.ts'
import { type Envelope, keyRotatedAway, parseEnvelope, rewrap, type SecretId, secretExists } from './sealed-box.ts'

/** Nothing, when the secret exists, or the others are sealed under another key. */
const INSERT_NEW = `INSERT INTO sealed_keys (tenant_id, purpose, envelope)
  SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM sealed_keys WHERE envelope->>'kek' <> $4) ON CONFLICT DO NOTHING`

/**
 * Keeps envelopes in PostgreSQL. A backup of the database then includes the sealed keys, which are worthless without
 * the key-encryption key: set KEYSTORE_KEY to the same value on every machine. A value, because a directory is a `Keystore` too.
 */
export function createPostgresKeystore(pool: Pool): Keystore {
  async function read(id: SecretId): Promise<Envelope | undefined> {
    const { rows } = await pool.query<{ envelope: unknown }>(
      'SELECT envelope FROM sealed_keys WHERE tenant_id = $1 AND purpose = $2',
      [id.tenantId, id.purpose],
    )
    return rows[0] === undefined ? undefined : parseEnvelope(rows[0].envelope, id)
  }

  return {
    read,

    async createOnce(id, envelope) {
      await inTransaction(pool, async (client) => {
        // Waits for a running rotation, so that the insert sees its result.
        await client.query('LOCK TABLE sealed_keys IN ROW EXCLUSIVE MODE')
        await client.query(INSERT_NEW, [id.tenantId, id.purpose, canonicalJson(envelope), envelope.kek])
      })
      // A separate statement: it sees the winner's row, which the losing insert waited for.
      const stored = await read(id)
      if (stored === undefined) throw keyRotatedAway(id, envelope.kek)
      return stored
    },

    async createAll(secrets) {
      await inTransaction(pool, async (client) => {
        await client.query('LOCK TABLE sealed_keys IN ROW EXCLUSIVE MODE')
        for (const { id, envelope } of secrets) {
          const { rowCount } = await client.query(INSERT_NEW, [
            id.tenantId,
            id.purpose,
            canonicalJson(envelope),
            envelope.kek,
          ])
          if (rowCount === 0) throw secretExists(id)
        }
      })
    },

    async list() {
      const { rows } = await pool.query<SecretId>(
        'SELECT tenant_id AS "tenantId", purpose FROM sealed_keys ORDER BY tenant_id, purpose',
      )
      return rows
    },

    async kekIds() {
      const { rows } = await pool.query<{ kek: string }>(
        `SELECT DISTINCT envelope->>'kek' AS kek FROM sealed_keys WHERE envelope ? 'kek'`,
      )
      return rows.map((row) => row.kek)
    },
  }
}

/**
 * Seals every secret of the table under another key, in one transaction: all or none. Reads continue meanwhile.
 *
 * @param beforeCommit if it throws, nothing changes
 * @returns the number of secrets sealed again; those already under the new key are skipped
 * @throws Unavailable `keystore_key_wrong` or `sealed_secret_damaged` for one that `from` does not open
 */
export async function rotatePostgresKeystore(
  pool: Pool,
  { from, to, beforeCommit }: { readonly from: Kek; readonly to: Kek; readonly beforeCommit: () => Promise<void> },
): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query('LOCK TABLE sealed_keys IN EXCLUSIVE MODE')
    const { rows } = await client.query<SecretId & { readonly envelope: unknown }>(
      'SELECT tenant_id AS "tenantId", purpose, envelope FROM sealed_keys ORDER BY tenant_id, purpose',
    )
    const resealed = rows.flatMap(({ tenantId, purpose, envelope }) => {
      const id = { tenantId, purpose }
      const sealed = parseEnvelope(envelope, id)
      return sealed.kek === to.id ? [] : [{ ...id, envelope: canonicalJson(rewrap(from, to, id, sealed)) }]
    })
    await client.query(
      `UPDATE sealed_keys AS k SET envelope = n.envelope
         FROM unnest($1::text[], $2::text[], $3::jsonb[]) AS n(tenant_id, purpose, envelope)
        WHERE k.tenant_id = n.tenant_id AND k.purpose = n.purpose`,
      [
        resealed.map(({ tenantId }) => tenantId),
        resealed.map(({ purpose }) => purpose),
        resealed.map(({ envelope }) => envelope),
      ],
    )
    await beforeCommit()
    return resealed.length
  })
}

async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let failure: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    failure = error as Error
    await client.query('ROLLBACK').catch(() => undefined) // The connection may have failed.
    throw error
  } finally {
    client.release(failure)
  }
}
