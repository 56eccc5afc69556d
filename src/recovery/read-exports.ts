/**
 * Reads exports for the wallet's owner, and lets a request wait for one. A file can be read until it expires, even if
 * it is not deleted yet.
 */

import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import type { Row } from '../event-log/table-rows.ts'
import { createWaitUntil, type WaitUntil } from '../event-log/wait-until.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import type { WalletOwner } from '../wallets/find-wallet.ts'
import type { ExportRefusal } from './events.ts'
import { REQUESTED } from './sql.ts'
import type { ExportStatus } from './state.ts'

export type ExportView = {
  readonly export_id: string
  readonly wallet_id: string
  readonly status: ExportStatus
  readonly recipient: string
  /** An armored age file; null unless exported. */
  readonly ciphertext: string | null
  /** SHA-256 of the file, hex. */
  readonly sha256: string | null
  readonly expires_at: string | null
  readonly requested_at: string
  readonly exported_at: string | null
  readonly failure: { readonly code: ExportRefusal; readonly message: string } | null
}

export type ExportReads = {
  /** @throws NotFound `export_not_found`; `export_expired` after the file expired */
  readonly read: (owner: WalletOwner, walletId: string, exportId: string) => Promise<ExportView>
  /** Resolves once a signer has exported or refused it, or with `null` after the timeout. */
  readonly untilEnded: WaitUntil<true>
}

const REFUSALS: Readonly<Record<ExportRefusal, string>> = {
  recipient_not_allowed: 'EXPORT_RECIPIENTS of the signer does not name this recipient: ask the operator to add it.',
  request_expired: 'No signer processed the export in time, and it expired: request a new export.',
}

export type ExportReadPorts = { readonly pool: Pool; readonly wakeUps: WakeUps; readonly clock: Clock }

export function createExportReads({ pool, wakeUps, clock }: ExportReadPorts): ExportReads {
  return {
    async read({ tenantId, environment }, walletId, exportId) {
      const { rows } = await pool.query<ExportRow>({
        name: 'read_export',
        text: `SELECT e.status, e.recipient, e.sha256, e.refusal, e.requested_at, e.exported_at, e.expires_at, f.ciphertext
                 FROM wallet_exports e
                 LEFT JOIN wallet_export_files f ON f.export_id = e.export_id AND f.expires_at > $5
                WHERE e.export_id = $1 AND e.wallet_id = $2 AND e.tenant_id = $3 AND e.environment = $4`,
        values: [exportId, walletId, tenantId, environment, new Date(clock())],
      })
      const [row] = rows
      if (row === undefined) throw new NotFound('export')
      if (row.status === 'exported' && row.ciphertext === null) throw expired()
      return toView(walletId, exportId, row)
    },
    untilEnded: createWaitUntil({
      wakeUps,
      async find(ids) {
        const { rows } = await pool.query<{ export_id: string }>({
          name: 'ended_exports',
          text: `SELECT export_id FROM wallet_exports WHERE export_id = ANY($1) AND NOT ${REQUESTED}`,
          values: [ids],
        })
        return new Map(rows.map(({ export_id }) => [export_id, true]))
      },
    }),
  }
}

type ExportRow = Pick<
  Row<'wallet_exports', { readonly status: ExportStatus; readonly refusal: ExportRefusal | null }>,
  'status' | 'recipient' | 'sha256' | 'refusal' | 'requested_at' | 'exported_at' | 'expires_at'
> & { readonly ciphertext: Row<'wallet_export_files'>['ciphertext'] | null }

function toView(walletId: string, exportId: string, row: ExportRow): ExportView {
  return {
    export_id: exportId,
    wallet_id: walletId,
    status: row.status,
    recipient: row.recipient,
    ciphertext: row.ciphertext,
    sha256: row.sha256,
    expires_at: row.expires_at?.toISOString() ?? null,
    requested_at: row.requested_at.toISOString(),
    exported_at: row.exported_at?.toISOString() ?? null,
    failure: row.refusal === null ? null : { code: row.refusal, message: REFUSALS[row.refusal] },
  }
}

function expired(): NotFound {
  const message = 'The exported key was deleted after an hour: request a new export with a new Idempotency-Key.'
  return new NotFound('export', 'export_expired', message)
}
