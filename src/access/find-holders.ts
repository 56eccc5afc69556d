/** Finds the live API keys of an owner that hold a scope. */
import type { Pool } from 'pg'
import type { Scope } from '../core/registry.ts'
import type { Owner } from '../core/tenants.ts'
import type { Row } from '../event-log/table-rows.ts'
import { ACTIVE } from './sql.ts'

export type Holder = { readonly keyId: string; readonly expires: boolean; readonly createsKeys: boolean }

/** Those that never expire first: an owner has fewer than are found. */
const MOST = 1_000

export async function findHolders(
  pool: Pool,
  { tenantId, environment }: Owner,
  scope: Scope,
): Promise<readonly Holder[]> {
  const { rows } = await pool.query<Pick<Row<'api_keys'>, 'key_id' | 'expires_at' | 'grants'>>({
    name: 'api_keys_with_scope',
    text: `SELECT key_id, expires_at, grants FROM api_keys
            WHERE tenant_id = $1 AND environment = $2 AND ${ACTIVE} AND (expires_at IS NULL OR expires_at > now()) AND $3 = ANY (grants)
            ORDER BY expires_at DESC NULLS FIRST LIMIT ${MOST}`,
    values: [tenantId, environment, scope],
  })
  const creates: Scope = 'api_keys:write'
  return rows.map(({ key_id: keyId, expires_at, grants }) => ({
    ...{ keyId, expires: expires_at !== null, createsKeys: grants.includes(creates) },
  }))
}
