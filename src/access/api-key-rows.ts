/** Reads API keys from the read model. Lookups are by digest, and no digest is returned. */
import type { Pool } from 'pg'
import { Unavailable } from '../core/errors.ts'
import type { Environment } from '../core/networks.ts'
import { batchLookups } from '../event-log/batch-lookups.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import type { Row } from '../event-log/table-rows.ts'

export type ApiKey = {
  readonly keyId: string
  readonly tenantId: string
  readonly environment: Environment
  readonly label: string
  readonly scopes: readonly string[]
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly createdAt: Date
}

export type ApiKeyRows = {
  /** The key of a digest (SHA-256, hex), including expired and revoked ones. Concurrent calls are unlimited. */
  readonly byDigest: (digest: string) => Promise<ApiKey | undefined>
  /** Newest first, at most `limit`; of one tenant or of all. */
  readonly list: (filter: { readonly tenantId?: string; readonly limit: number }) => Promise<readonly ApiKey[]>
}

const COLUMNS = `key_id AS "keyId", tenant_id AS "tenantId", environment, label, scopes, expires_at AS "expiresAt",
  revoked_at AS "revokedAt", created_at AS "createdAt"`

/** Every method throws Unavailable `database_unavailable` when the database does not answer. */
export function createApiKeyRows(pool: Pool): ApiKeyRows {
  async function query<Found extends ApiKey>(name: string, text: string, values: unknown[]): Promise<Found[]> {
    try {
      return (await pool.query<Found>({ name, text, values })).rows
    } catch (error) {
      if (!isConnectionFailure(error) && !isTransient(error)) throw error
      throw new Unavailable('database_unavailable', 'The database is not available: try again.', { cause: error })
    }
  }

  async function byDigests(digests: readonly string[]): Promise<Map<string, ApiKey>> {
    const text = `SELECT digest, ${COLUMNS} FROM api_keys WHERE digest = ANY($1::text[])`
    const rows = await query<ApiKey & Pick<Row<'api_keys'>, 'digest'>>('api_keys_by_digests', text, [digests])
    return new Map(rows.map(({ digest, ...key }) => [digest, key]))
  }

  return {
    byDigest: batchLookups(byDigests),
    list: ({ tenantId, limit }) =>
      query(
        'api_keys',
        `SELECT ${COLUMNS} FROM api_keys WHERE $1::text IS NULL OR tenant_id = $1 ORDER BY key_id DESC LIMIT $2`,
        [tenantId ?? null, limit],
      ),
  }
}
