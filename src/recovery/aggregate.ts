/** The read model of an export: its row. No event contains the sealed file, so neither does the row. Pure. */
import { type Aggregate, opensItself, type ProjectionContext } from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import { reservedSpends } from '../transactions/limits.ts'
import { readReserving } from '../transactions/read-events.ts'
import { type ExportCommand, exportDecider } from './decider.ts'
import type { ExportEvent } from './events.ts'
import type { ExportState, KnownExport } from './state.ts'

const first = { version: 1, upcasters: [] }

export const exportAggregate: Aggregate<ExportState, ExportCommand, ExportEvent, 'wallet_exports'> = {
  ...exportDecider,
  category: 'export',
  whenSetAside: 'hold',
  schemas: {
    WalletExportRequested: { ...first, read: readReserving },
    WalletExported: first,
    WalletExportRefused: first,
  },
  opens: opensItself<ExportEvent>('WalletExportRequested'),
  project: (before, after, context) => ({
    rows: after.status === 'unknown' ? [] : [{ table: 'wallet_exports', row: toRow(after, context) }],
    holds: [],
    spends: before.status !== 'unknown' || after.status === 'unknown' ? [] : reservedSpends(after.reservations),
  }),
}

function toRow(known: KnownExport, { id, version }: ProjectionContext): WrittenRow<'wallet_exports'> {
  return {
    export_id: id,
    tenant_id: known.tenantId,
    wallet_id: known.walletId,
    environment: known.environment,
    recipient: known.recipient,
    status: known.status,
    sha256: known.sha256,
    refusal: known.refusal,
    requested_at: known.requestedAt,
    exported_at: known.exportedAt,
    expires_at: known.expiresAt,
    version,
  }
}
