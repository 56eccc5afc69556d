/** The active wallet of a tenant for an address on a chain: the unique index allows one. */
import type { Pool } from 'pg'
import type { Row } from '../event-log/table-rows.ts'
import type { WalletType } from './events.ts'

/** @param place.address EIP-55 */
export async function findByAddress(
  pool: Pool,
  { tenantId, chainId, address }: { readonly tenantId: string; readonly chainId: number; readonly address: string },
): Promise<{ readonly walletId: string; readonly type: WalletType } | null> {
  const { rows } = await pool.query<Pick<Row<'wallets', { readonly type: WalletType }>, 'wallet_id' | 'type'>>({
    name: 'wallet_by_address',
    text: `SELECT wallet_id, type FROM wallets
            WHERE tenant_id = $1 AND chain_id = $2 AND address = $3 AND status <> 'archived'`,
    values: [tenantId, chainId, address],
  })
  const [row] = rows
  return row === undefined ? null : { walletId: row.wallet_id, type: row.type }
}
