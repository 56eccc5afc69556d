/** Reads the state of a wallet's shares for the API. */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import {
  KEY_COLUMNS,
  type KeyRow,
  REFRESH_COLUMNS,
  type RefreshRow,
  type RefreshView,
  type SharesView,
  toRefresh,
  toShares,
} from './view.ts'

export type SharesReads = {
  /** @throws NotFound when the wallet has no key */
  readonly read: (walletId: string) => Promise<SharesView>
  /** @throws NotFound `refresh_not_found` */
  readonly readRefresh: (refreshId: string) => Promise<RefreshView>
}

export function createSharesReads(pool: Pool): SharesReads {
  return {
    async read(walletId) {
      const { rows: keys } = await pool.query<KeyRow>({
        name: 'shares_of_wallet',
        text: `SELECT ${KEY_COLUMNS.join(', ')} FROM mpc_keys WHERE wallet_id = $1`,
        values: [walletId],
      })
      const [key] = keys
      if (key === undefined) throw new NotFound('mpc_key')
      return toShares(walletId, key, await newestRefreshes(pool, key.key_id))
    },
    async readRefresh(refreshId) {
      const { rows } = await pool.query<RefreshRow>({
        name: 'refresh',
        text: `SELECT ${REFRESH_COLUMNS.join(', ')} FROM mpc_refreshes WHERE refresh_id = $1`,
        values: [refreshId],
      })
      const [row] = rows
      if (row === undefined) throw new NotFound('refresh')
      return toRefresh(row)
    },
  }
}

/** At most one refresh of a key is open, and it is the newest: two rows contain it and the last finished one. */
async function newestRefreshes(pool: Pool, keyId: string): Promise<readonly RefreshView[]> {
  const { rows } = await pool.query<RefreshRow>({
    name: 'newest_refreshes',
    text: `SELECT ${REFRESH_COLUMNS.join(', ')} FROM mpc_refreshes WHERE key_id = $1 ORDER BY refresh_id DESC LIMIT 2`,
    values: [keyId],
  })
  return rows.map(toRefresh)
}
