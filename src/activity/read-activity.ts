/**
 * What came into a wallet and left it, newest first: the observed transfers, and the wallet's own transactions, which are
 * not recorded a second time. Both are read in the order of an index, from the place of the cursor on.
 */
import type { Pool } from 'pg'
import { transactions } from '../transactions/declaration.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import type { Direction } from './events.ts'
import { STANDS } from './sql.ts'
import type { EntryRow } from './view.ts'

export type ActivityQuery = {
  readonly tenantId: string
  readonly walletId: string
  readonly direction: Direction | undefined
  /** A symbol or a contract address. */
  readonly asset: string | undefined
  /** Only what is older than this place. */
  readonly before: string | undefined
  readonly limit: number
}

const OF_ASSET = '($5::text IS NULL OR upper(asset_symbol) = upper($5) OR lower(asset_contract) = lower($5))'

/** A transaction that failed moved nothing; neither does one whose wallet sends to itself. */
const OWN = `SELECT transaction_id AS id, split_part(transaction_id, '_', 2) AS place, 'out' AS direction, network, status, hash,
    NULL::integer AS log_index, to_address AS counterparty, transaction_id, asset_id, asset_symbol, asset_decimals, asset_contract,
    coalesce(amount_moved, amount)::text AS amount, NULL::jsonb AS valuation, block_number::text AS block_number, created_at
  FROM ${TRANSACTIONS} AS transactions
 WHERE wallet_id = $1 AND tenant_id = $2 AND ($3::text IS NULL OR transaction_id < $3) AND ($4::text IS NULL OR $4 = 'out')
   AND amount > 0 AND status IN ('pending', 'confirmed') AND to_address <> from_address AND ${OF_ASSET}
 ORDER BY transaction_id DESC LIMIT $6`

const OBSERVED = `SELECT transfer_id AS id, place, direction, network,
    CASE status WHEN 'detected' THEN 'pending' ELSE 'confirmed' END AS status, hash, log_index, counterparty, transaction_id, asset_id,
    asset_symbol, asset_decimals, asset_contract, amount::text AS amount, valuation, block_number::text AS block_number,
    observed_at AS created_at
  FROM observed_transfers
 WHERE wallet_id = $1 AND tenant_id = $2 AND ($7::text IS NULL OR place < $7) AND ($4::text IS NULL OR direction = $4)
   AND ${STANDS} AND ${OF_ASSET}
 ORDER BY place DESC LIMIT $6`

export async function readActivity(pool: Pool, query: ActivityQuery): Promise<EntryRow[]> {
  const { before } = query
  const { rows } = await pool.query<EntryRow>({
    name: 'activity_of_wallet',
    text: `SELECT * FROM ((${OWN}) UNION ALL (${OBSERVED})) AS entries ORDER BY place DESC LIMIT $6`,
    values: [
      query.walletId,
      query.tenantId,
      before === undefined ? null : `${transactions.ids.transaction}_${before}`,
      query.direction ?? null,
      query.asset ?? null,
      query.limit,
      before ?? null,
    ],
  })
  return rows
}
