/** Jobs for the events of a mint, and which unsigned vouchers are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../../event-log/subscription.ts'
import type { Job } from '../../jobs/queues.ts'
import { WALLETS } from '../../wallets/sql.ts'
import { UNSIGNED } from '../sql.ts'

/** A voucher waits for its signature. */
function signatureJob(mintId: string): Job {
  return { queue: 'voucher', id: mintId, data: { mint_id: mintId } }
}

/** The jobs of an event; empty for most. */
export function voucherJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  return type === 'VoucherRequested' ? [signatureJob(streamId.slice('mint-'.length))] : []
}

/**
 * Vouchers that have waited for their signature for a while, tenants in turn, oldest first: finds work lost with an
 * emptied queue.
 *
 * @param quietBefore vouchers requested later still have their own job
 */
export async function findUnsignedVouchers(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ mint_id: string }>({
    name: 'unsigned_vouchers',
    text: `SELECT mint_id FROM (SELECT v.mint_id, v.created_at,
               row_number() OVER (PARTITION BY w.tenant_id ORDER BY v.created_at) AS turn
             FROM nft_vouchers v LEFT JOIN ${WALLETS} w USING (wallet_id)
            WHERE v.${UNSIGNED} AND v.created_at < $1) AS waiting
            ORDER BY turn, created_at LIMIT $2`,
    values: [quietBefore, limit],
  })
  return rows.map((row) => signatureJob(row.mint_id))
}
