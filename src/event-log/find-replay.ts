/**
 * Finds what an idempotency key made. A request that would be refused today may be the replay of one that was accepted:
 * the wallet was archived since, or the time until which it was valid has passed. The replay is answered as the first was.
 */
import type { Pool } from 'pg'
import { IdempotencyKeyReused } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'

/**
 * The id of the resource that this request made before, or `null`.
 *
 * @throws IdempotencyKeyReused when the key belongs to another request
 */
export type FindReplay = (metadata: Metadata) => Promise<string | null>

export function createFindReplay(pool: Pool): FindReplay {
  return async ({ tenantId, idempotency }) => {
    if (idempotency === undefined) return null
    const { rows } = await pool.query<{ resource_id: string; fingerprint: string }>({
      name: 'find_replay',
      text: 'SELECT resource_id, fingerprint FROM idempotency_keys WHERE tenant_id = $1 AND key = $2',
      values: [tenantId, idempotency.key],
    })
    const [row] = rows
    if (row === undefined) return null
    if (row.fingerprint !== idempotency.fingerprint) throw new IdempotencyKeyReused()
    return row.resource_id
  }
}
