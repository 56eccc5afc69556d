/** Jobs for the events of a joint key, and which refreshes are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { OPEN } from './sql.ts'

/** A key waits for new shares. */
function sharesJob(keyId: string): Job {
  return { queue: 'shares', id: keyId, data: { key_id: keyId } }
}

/** The jobs of an event; empty for most. */
export function mpcKeyJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return type === 'MpcSharesRefreshRequested' ? [sharesJob(streamId.slice('mpckey-'.length))] : []
}

/**
 * Keys that have waited for a refresh for a while, tenants in turn, oldest first: finds work lost with an emptied
 * queue.
 *
 * @param quietBefore refreshes requested later still have their own job
 */
export async function findOpenRefreshes(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ key_id: string }>({
    name: 'open_refreshes',
    text: `SELECT key_id FROM (SELECT r.key_id, r.requested_at,
               row_number() OVER (PARTITION BY k.tenant_id ORDER BY r.requested_at) AS turn
             FROM mpc_refreshes r LEFT JOIN mpc_keys k USING (key_id)
            WHERE r.${OPEN} AND r.requested_at < $1) AS waiting
            ORDER BY turn, requested_at LIMIT $2`,
    values: [quietBefore, limit],
  })
  return rows.map((row) => sharesJob(row.key_id))
}
