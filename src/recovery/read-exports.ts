/**
 * Reads exports for the wallet's owner. A file can be read until it expires, even if
 * it is not deleted yet, and only if its hash is the one in the log.
 */
import { hash } from 'node:crypto'
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import { EVENTS } from '../event-log/sql.ts'
import { exportAggregate } from './aggregate.ts'
import type { WalletExported } from './events.ts'
import { COLUMNS, type ExportRow, type ExportView, toView } from './view.ts'

/** The hash in the log of the file of an export `e`. */
const RECORDED = `(SELECT x.data->>'ciphertextSha256' FROM ${EVENTS} AS x WHERE x.stream_id = '${exportAggregate.category}-' || e.export_id
  AND x.type = '${'WalletExported' satisfies WalletExported['type']}' ORDER BY x.stream_version LIMIT 1)`

/** @throws NotFound `export_not_found`; `export_expired` after the file expired, and for a file that was changed */
export async function readExport(
  { pool, clock }: Pick<Context, 'pool' | 'clock'>,
  { tenantId, environment }: Owner,
  walletId: string,
  exportId: string,
): Promise<ExportView> {
  const { rows } = await pool.query<ExportRow & { readonly recorded: string | null }>({
    name: 'read_export',
    text: `SELECT ${COLUMNS.map((column) => `e.${column}`).join(', ')}, f.ciphertext, ${RECORDED} AS recorded
             FROM wallet_exports e
             LEFT JOIN wallet_export_files f ON f.export_id = e.export_id AND f.expires_at > $5
            WHERE e.export_id = $1 AND e.wallet_id = $2 AND e.tenant_id = $3 AND e.environment = $4`,
    values: [exportId, walletId, tenantId, environment, new Date(clock())],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('export')
  const { recorded, ...shown } = row
  if (shown.status === 'exported' && shown.ciphertext === null) throw expired()
  if (shown.ciphertext !== null && hash('sha256', shown.ciphertext) !== recorded) throw expired()
  return toView(shown)
}

function expired(): NotFound {
  const message = 'The exported key was deleted after an hour: request a new export with a new Idempotency-Key.'
  return new NotFound('export', 'export_expired', message)
}
