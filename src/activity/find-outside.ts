/** Finds what wallets sent in transactions that the log does not have: another program has the key, or a restore lost them. */
import type { Context } from '../context.ts'
import type { Row } from '../event-log/table-rows.ts'
import { OUTSIDE } from '../transactions/sql.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { Valuation } from './events.ts'

export type FoundPlace = { readonly observedAt: string; readonly transferId: string }

type Columns = Pick<
  Row<'observed_transfers', { readonly valuation: Valuation | null }>,
  | ('transfer_id' | 'wallet_id' | 'network' | 'chain_id' | 'hash' | 'counterparty' | 'amount' | 'status' | 'valuation')
  | ('asset_id' | 'asset_symbol' | 'asset_decimals' | 'asset_contract' | 'block_timestamp' | 'observed_at')
> &
  Pick<Row<'wallets'>, 'tenant_id' | 'environment'>

/**
 * Transfers out of wallets whose keys are held here, in the order of their first observation.
 *
 * @param after begins behind this one
 * @param most rows
 */
export async function findOutside(
  { pool }: Pick<Context, 'pool'>,
  { observedAt, transferId }: FoundPlace,
  most: number,
) {
  const { rows } = await pool.query<Columns>({
    name: 'transfers_sent_outside',
    text: `SELECT t.transfer_id, t.wallet_id, w.tenant_id, w.environment, t.network, t.chain_id, t.hash, t.counterparty, t.amount, t.status,
                  t.valuation, t.asset_id, t.asset_symbol, t.asset_decimals, t.asset_contract, t.block_timestamp, t.observed_at
             FROM observed_transfers t JOIN ${WALLETS} AS w ON w.wallet_id = t.wallet_id AND w.type <> 'watch'
            WHERE t.direction = 'out' AND t.transaction_id IS NULL AND (t.observed_at, t.transfer_id) > ($1::timestamptz, $2)
              AND EXISTS (SELECT FROM ${OUTSIDE} AS o WHERE o.chain_id = t.chain_id AND o.address = w.address AND o.hash = t.hash)
            ORDER BY t.observed_at, t.transfer_id LIMIT $3`,
    values: [observedAt, transferId, most],
  })
  return rows.map((row) => ({
    transferId: row.transfer_id,
    observedAt: row.observed_at.toISOString(),
    isConfirmed: row.status === 'confirmed',
    sent: {
      ...{ tenantId: row.tenant_id, environment: row.environment, walletId: row.wallet_id },
      ...{ network: row.network, chainId: row.chain_id, hash: row.hash, recipient: row.counterparty },
      asset: {
        ...{ assetId: row.asset_id, symbol: row.asset_symbol },
        ...{ decimals: row.asset_decimals, contract: row.asset_contract },
      },
      ...{ amount: row.amount, usd: row.valuation?.price ?? null, sentAt: row.block_timestamp.toISOString() },
    },
  }))
}
