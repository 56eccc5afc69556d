/** Which job follows from the events of a signature, and which unsigned ones are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { UNSIGNED } from './sql.ts'

function signatureJob(signatureId: string): Job {
  return { queue: 'signature', id: signatureId, data: { signature_id: signatureId } }
}

/** Events that leave something to sign. */
const TO_SIGN: ReadonlySet<string> = new Set(['MessageSignatureRequested', 'TypedDataSignatureRequested'])

/** The jobs that follow from an event: none, for most. */
export function signatureJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return TO_SIGN.has(type) ? [signatureJob(streamId.slice('signature-'.length))] : []
}

/**
 * Signatures that have been waited for for a while, of each tenant in turn the oldest first: what is lost with an emptied queue is found here.
 *
 * @param quietBefore those requested later have a job of their own on the way
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
