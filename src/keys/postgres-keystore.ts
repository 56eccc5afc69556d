/** A keystore in the table `sealed_keys`: any number of signer machines share it, and the database sees ciphertext only. */
import type { Pool } from 'pg'
import { canonicalJson } from '../core/canonical-json.ts'
import type { Keystore } from './keystore.ts'
import { type Envelope, parseEnvelope, type SecretId } from './sealed-box.ts'

/**
 * Keeps envelopes in PostgreSQL. A backup of the database is then a backup of the sealed keys too, worthless without the
 * key-encryption key: set KEYSTORE_KEY to the same value on every machine.
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
      await pool.query(
        'INSERT INTO sealed_keys (tenant_id, purpose, envelope) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [id.tenantId, id.purpose, canonicalJson(envelope)],
      )
      // A statement of its own: it sees the winner's row, which the insert of a loser waited for.
      const stored = await read(id)
      if (stored === undefined) throw new Error('a sealed key vanished while it was made')
      return stored
    },

    async replace(id, current, next) {
      const { rowCount } = await pool.query(
        'UPDATE sealed_keys SET envelope = $4 WHERE tenant_id = $1 AND purpose = $2 AND envelope = $3::jsonb',
        [id.tenantId, id.purpose, canonicalJson(current), canonicalJson(next)],
      )
      return rowCount === 1
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
