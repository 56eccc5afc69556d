/** Jobs for the events of an export, which unfinished exports are queued again, and the deletion of expired files. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { REQUESTED } from './sql.ts'

/** A wallet's key waits to be sealed. */
function sealJob(exportId: string): Job {
  return { queue: 'export', id: exportId, data: { export_id: exportId } }
}

/** The jobs of an event; empty for most. */
export function exportJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return type === 'WalletExportRequested' ? [sealJob(streamId.slice('export-'.length))] : []
}

/**
 * Exports that have waited for a while, tenants in turn, oldest first: finds work lost with an emptied queue.
 *
 * @param quietBefore exports requested later still have their own job
 */
export async function findWaitingExports(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ export_id: string }>({
    name: 'waiting_exports',
    text: `SELECT export_id FROM (SELECT export_id, requested_at,
               row_number() OVER (PARTITION BY tenant_id ORDER BY requested_at) AS turn
             FROM wallet_exports WHERE ${REQUESTED} AND requested_at < $1) AS waiting
            ORDER BY turn, requested_at LIMIT $2`,
    values: [quietBefore, limit],
  })
  return rows.map((row) => sealJob(row.export_id))
}

/** Deletes expired files. Returns their number. */
export async function deleteExpiredFiles(pool: Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM wallet_export_files WHERE expires_at <= $1', [now])
  return rowCount ?? 0
}
