/**
 * Reads exports for the wallet's owner, and lets a request wait for one. A file can be read until it expires, even if
 * it is not deleted yet, and only if its hash is the one in the log.
 */
import { hash } from 'node:crypto'
import type { Context } from '../context.ts'
import { NotFound } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import { EVENTS } from '../event-log/sql.ts'
import type { Row } from '../event-log/table-rows.ts'
import { type WaitUntil, waitUntilRow } from '../event-log/wait-until.ts'
import { exportAggregate } from './aggregate.ts'
import type { WalletExported } from './events.ts'
import { REQUESTED } from './sql.ts'
import { COLUMNS, type ExportRow, type ExportView, toView } from './view.ts'

export type ExportReads = {
  /** @throws NotFound `export_not_found`; `export_expired` after the file expired, and for a file that was changed */
  readonly read: (owner: Owner, walletId: string, exportId: string) => Promise<ExportView>
  /** Resolves once a signer has exported or refused it, or with `null` after the timeout. */
  readonly untilEnded: WaitUntil<unknown>
}

/** The hash in the log of the file of an export `e`. */
const RECORDED = `(SELECT x.data->>'ciphertextSha256' FROM ${EVENTS} AS x WHERE x.stream_id = '${exportAggregate.category}-' || e.export_id
  AND x.type = '${'WalletExported' satisfies WalletExported['type']}' ORDER BY x.stream_version LIMIT 1)`

export function createExportReads({ pool, wakeUps, clock }: Pick<Context, 'pool' | 'wakeUps' | 'clock'>): ExportReads {
  return {
    async read({ tenantId, environment }, walletId, exportId) {
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
    },
    untilEnded: waitUntilRow<Pick<Row<'wallet_exports'>, 'export_id'>>(
      { pool, wakeUps },
      {
        name: 'ended_exports',
        text: `SELECT export_id FROM wallet_exports WHERE export_id = ANY($1) AND NOT ${REQUESTED}`,
        id: 'export_id',
      },
    ),
  }
}

function expired(): NotFound {
  const message = 'The exported key was deleted after an hour: request a new export with a new Idempotency-Key.'
  return new NotFound('export', 'export_expired', message)
}
