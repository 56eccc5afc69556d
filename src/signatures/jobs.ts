/** Jobs for the events of a signature, and which unsigned ones are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { UNSIGNED } from './sql.ts'

function signatureJob(signatureId: string): Job {
  return { queue: 'signature', id: signatureId, data: { signature_id: signatureId } }
}

/** Events after which there is something to sign. */
const TO_SIGN: ReadonlySet<string> = new Set(['MessageSignatureRequested', 'TypedDataSignatureRequested'])

/** The jobs of an event; empty for most. */
export function signatureJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return TO_SIGN.has(type) ? [signatureJob(streamId.slice('signature-'.length))] : []
}

/**
 * Signatures that have been pending for a while, tenants in turn, oldest first: finds work lost with an emptied queue.
 *
 * @param quietBefore signatures requested later still have their own job
 */
export async function findPendingSignatures(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ signature_id: string }>({
    name: 'pending_signatures',
    text: `SELECT signature_id FROM (SELECT signature_id, created_at,
               row_number() OVER (PARTITION BY tenant_id ORDER BY created_at) AS turn
             FROM signatures WHERE ${UNSIGNED} AND created_at < $1) AS waiting
            ORDER BY turn, created_at LIMIT $2`,
    values: [quietBefore, limit],
  })
  return rows.map((row) => signatureJob(row.signature_id))
}
