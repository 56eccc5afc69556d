/** Reads signatures for the owner of their wallet. */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import { COLUMNS, type SignatureRow, type SignatureView, toView } from './view.ts'

/** @throws NotFound `signature_not_found` when the tenant's wallet has no such signature */
export async function readSignature(
  pool: Pool,
  tenantId: string,
  walletId: string,
  signatureId: string,
): Promise<SignatureView> {
  const { rows } = await pool.query<SignatureRow>({
    name: 'read_signature',
    text: `SELECT ${COLUMNS.join(', ')} FROM signatures WHERE signature_id = $1`,
    values: [signatureId],
  })
  const [row] = rows
  if (row === undefined || row.tenant_id !== tenantId || row.wallet_id !== walletId) throw new NotFound('signature')
  return toView(row)
}
