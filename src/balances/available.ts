/** What a wallet may spend, as the append of a transfer checks it. */
import type { Context } from '../context.ts'
import { HOLDS } from '../transactions/sql.ts'

/** Base units: the balance minus the holds of pending transactions, never negative; 0 for an unobserved asset. */
export async function availableOf({ pool }: Pick<Context, 'pool'>, walletId: string, assetId: string): Promise<bigint> {
  const { rows } = await pool.query<{ available: string }>({
    name: 'available_of_wallet',
    text: `SELECT greatest(b.balance - coalesce(h.held, 0), 0) AS available
             FROM balances b LEFT JOIN ${HOLDS} h ON h.wallet_id = b.wallet_id AND h.asset_id = b.asset_id
            WHERE b.wallet_id = $1 AND b.asset_id = $2`,
    values: [walletId, assetId],
  })
  return BigInt(rows[0]?.available ?? 0)
}
