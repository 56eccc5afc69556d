/** An export in the form of the API. */
import { toIso } from '../core/instants.ts'
import type { ReadOrWrittenRow, Row } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { ExportRefusal } from './events.ts'
import type { exportSchema } from './schemas.ts'
import type { ExportStatus } from './state.ts'

export type ExportView = View<typeof exportSchema>

/** The columns of `wallet_exports` that a view needs. */
export const COLUMNS = [
  'export_id',
  'wallet_id',
  'status',
  'recipient',
  'sha256',
  'refusal',
  'requested_at',
  'exported_at',
  'expires_at',
] as const

/** With its file; null unless it is exported and has not expired. */
export type ExportRow = Pick<
  ReadOrWrittenRow<'wallet_exports', { readonly status: ExportStatus; readonly refusal: ExportRefusal | null }>,
  (typeof COLUMNS)[number]
> & { readonly ciphertext: Row<'wallet_export_files'>['ciphertext'] | null }

const REFUSALS: Readonly<Record<ExportRefusal, string>> = {
  recipient_not_allowed: 'EXPORT_RECIPIENTS of the signer does not name this recipient: ask the operator to add it.',
  request_expired: 'No signer processed the export in time, and it expired: request a new export.',
}

export function toView(row: ExportRow): ExportView {
  return {
    export_id: row.export_id,
    wallet_id: row.wallet_id,
    status: row.status,
    recipient: row.recipient,
    ciphertext: row.ciphertext,
    sha256: row.sha256,
    expires_at: row.expires_at === null ? null : toIso(row.expires_at),
    requested_at: toIso(row.requested_at),
    exported_at: row.exported_at === null ? null : toIso(row.exported_at),
    failure: row.refusal === null ? null : { code: row.refusal, message: REFUSALS[row.refusal] },
  }
}
