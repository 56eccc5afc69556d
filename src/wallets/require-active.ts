/** Refuses archived wallets before work that the append would refuse. */
import type { Pool } from 'pg'
import { Conflict } from '../core/errors.ts'
import type { WalletStatus } from './state.ts'

/** @throws Conflict `wallet_archived` */
export async function requireActive(pool: Pool, walletId: string): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'wallet_is_archived',
    text: `SELECT FROM wallets WHERE wallet_id = $1 AND status = '${'archived' satisfies WalletStatus}'`,
    values: [walletId],
  })
  if (rowCount !== 0) throw new Conflict('wallet_archived', 'The wallet is archived: restore it to send from it.')
}
