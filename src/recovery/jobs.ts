/** The work of exports: keys that wait to be sealed, and files whose time is over. */
import type { Pool } from 'pg'
import type { RepeatedTask } from '../capability.ts'
import { streamWork } from '../jobs/work.ts'
import type { ExportEvent } from './events.ts'
import { REQUESTED } from './sql.ts'

export const exportWork = streamWork<ExportEvent>({
  name: 'exports',
  queue: 'export',
  category: 'export',
  field: 'export_id',
  from: ['WalletExportRequested'],
  waiting: `SELECT export_id AS id, tenant_id, requested_at AS at FROM wallet_exports WHERE ${REQUESTED} AND requested_at < $1`,
  owners: { tenants: 'SELECT export_id AS id, tenant_id FROM wallet_exports WHERE export_id = ANY ($1)' },
})

/** Deletes expired files. Returns their number. */
export async function deleteExpiredFiles(pool: Pool, now: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM wallet_export_files WHERE expires_at <= $1', [now])
  return rowCount ?? 0
}

/** A file that expired is not read any more, whether it is deleted or not. */
const EXPIRY_INTERVAL_MS = 30_000

/** Deletes sealed keys that can no longer be fetched. */
export const expiryTask: RepeatedTask = {
  name: 'exports',
  intervalMs: ({ sweepIntervalMs }) => Math.max(sweepIntervalMs, EXPIRY_INTERVAL_MS),
  failure: 'cannot delete expired exports; will retry',
  build:
    ({ pool, clock }) =>
    () =>
      deleteExpiredFiles(pool, new Date(clock())),
}
