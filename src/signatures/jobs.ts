/** The work of signatures: requests that wait for their signature. */
import { streamWork } from '../jobs/work.ts'
import type { SignatureEvent } from './events.ts'
import { UNSIGNED } from './sql.ts'

export const signatureWork = streamWork<SignatureEvent>({
  name: 'signatures',
  queue: 'signature',
  category: 'signature',
  field: 'signature_id',
  from: ['MessageSignatureRequested', 'TypedDataSignatureRequested'],
  waiting: `SELECT signature_id AS id, tenant_id, created_at AS at FROM signatures WHERE ${UNSIGNED} AND created_at < $1`,
  owners: { wallets: 'SELECT signature_id AS id, wallet_id FROM signatures WHERE signature_id = ANY ($1)' },
})
