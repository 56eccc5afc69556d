/**
 * Finds the resource of an idempotency key. A request that would be refused today may replay one that was accepted, for
 * example because the wallet was archived since or a deadline has passed. A replay gets the first response.
 */
import type { Pool } from 'pg'
import { IdempotencyKeyReused } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Row } from './table-rows.ts'

/**
 * The id of the resource that this request created before, or `null`.
 *
 * @throws IdempotencyKeyReused when the key belongs to a different request
 */
export type FindReplay = (metadata: Metadata) => Promise<string | null>

export function createFindReplay(pool: Pool): FindReplay {
  return async ({ tenantId, idempotency }) => {
    if (idempotency === undefined) return null
    const { rows } = await pool.query<Pick<Row<'idempotency_keys'>, 'resource_id' | 'fingerprint'>>({
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
