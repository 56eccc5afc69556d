/** Which job follows from an export's events, which unfinished exports are queued again, and what is deleted in time. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { REQUESTED } from './sql.ts'

/** A wallet's key waits to be sealed. */
function sealJob(exportId: string): Job {
  return { queue: 'export', id: exportId, data: { export_id: exportId } }
}

/** The jobs that follow from an event: none, for most. */
export function exportJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return type === 'WalletExportRequested' ? [sealJob(streamId.slice('export-'.length))] : []
}

/**
 * Exports that have waited for a while, of each tenant in turn the oldest first: what is lost with an emptied queue is found here.
 *
 * @param quietBefore those requested later have a job of their own on the way
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

/** Deletes the files whose time is over. Returns how many. */
export async function deleteExpiredFiles(pool: Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM wallet_export_files WHERE expires_at <= $1', [now])
  return rowCount ?? 0
}
