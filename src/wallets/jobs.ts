/** Jobs for the events of a wallet, and which unfinished wallets are queued again. */
import type { Pool } from 'pg'
import type { Notice } from '../event-log/subscription.ts'
import type { Job } from '../jobs/queues.ts'
import { REQUESTED } from './sql.ts'

/** A wallet waits for its address. */
function addressJob(walletId: string): Job {
  return { queue: 'wallet', id: walletId, data: { wallet_id: walletId } }
}

/** A wallet waits for its first balance. */
function observeJob(walletId: string): Job {
  return { queue: 'observe', id: walletId, data: { wallet_id: walletId } }
}

/** The jobs of an event; empty for most. */
export function walletJobs({ type, streamId }: Pick<Notice, 'type' | 'streamId'>): readonly Job[] {
  const walletId = streamId.slice('wallet-'.length)
  switch (type) {
    case 'WalletRequested':
      return [addressJob(walletId)]
    case 'WalletCreated':
    case 'WatchStarted':
      return [observeJob(walletId)]
    default:
      return []
  }
}

/**
 * Wallets that have waited for their address for a while, tenants in turn, oldest first: finds work lost with an
 * emptied queue.
 *
 * @param quietBefore wallets requested later still have their own job
 */
export async function findRequestedWallets(pool: Pool, quietBefore: Date, limit: number): Promise<Job[]> {
  const { rows } = await pool.query<{ wallet_id: string }>({
    name: 'requested_wallets',
    text: `SELECT wallet_id FROM (SELECT wallet_id, created_at,
               row_number() OVER (PARTITION BY tenant_id ORDER BY created_at) AS turn
             FROM wallets WHERE ${REQUESTED} AND created_at < $1) AS waiting
            ORDER BY turn, created_at LIMIT $2`,
    values: [quietBefore, limit],
  })
  return rows.map((row) => addressJob(row.wallet_id))
}
