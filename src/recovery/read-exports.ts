/**
 * Reads exports for the wallet's owner, and lets a request wait for one. A file can be read until it expires, even if
 * it is not deleted yet.
 */

import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import type { Owner } from '../core/tenants.ts'
import type { Row } from '../event-log/table-rows.ts'
import { createWaitUntil, type WaitUntil } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import { REQUESTED } from './sql.ts'
import { COLUMNS, type ExportRow, type ExportView, toView } from './view.ts'

export type ExportReads = {
  /** @throws NotFound `export_not_found`; `export_expired` after the file expired */
  readonly read: (owner: Owner, walletId: string, exportId: string) => Promise<ExportView>
  /** Resolves once a signer has exported or refused it, or with `null` after the timeout. */
  readonly untilEnded: WaitUntil<true>
}

export type ExportReadPorts = { readonly pool: Pool; readonly wakeUps: WakeUps; readonly clock: Clock }

export function createExportReads({ pool, wakeUps, clock }: ExportReadPorts): ExportReads {
  return {
    async read({ tenantId, environment }, walletId, exportId) {
      const { rows } = await pool.query<ExportRow>({
        name: 'read_export',
        text: `SELECT ${COLUMNS.map((column) => `e.${column}`).join(', ')}, f.ciphertext
                 FROM wallet_exports e
                 LEFT JOIN wallet_export_files f ON f.export_id = e.export_id AND f.expires_at > $5
                WHERE e.export_id = $1 AND e.wallet_id = $2 AND e.tenant_id = $3 AND e.environment = $4`,
        values: [exportId, walletId, tenantId, environment, new Date(clock())],
      })
      const [row] = rows
      if (row === undefined) throw new NotFound('export')
      if (row.status === 'exported' && row.ciphertext === null) throw expired()
      return toView(row)
    },
    untilEnded: createWaitUntil({
      wakeUps,
      async find(ids) {
        const { rows } = await pool.query<Pick<Row<'wallet_exports'>, 'export_id'>>({
          name: 'ended_exports',
          text: `SELECT export_id FROM wallet_exports WHERE export_id = ANY($1) AND NOT ${REQUESTED}`,
          values: [ids],
        })
        return new Map(rows.map(({ export_id }) => [export_id, true]))
      },
    }),
  }
}

function expired(): NotFound {
  const message = 'The exported key was deleted after an hour: request a new export with a new Idempotency-Key.'
  return new NotFound('export', 'export_expired', message)
}
