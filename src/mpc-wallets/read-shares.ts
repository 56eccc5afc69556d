/** Reads the state of a wallet's shares for the API. */
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
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

/** @throws NotFound when the log does not have the key */
export async function readShares(
  { pool }: Pick<Context, 'pool'>,
  walletId: string,
  keyId: string,
): Promise<SharesView> {
  const { rows: keys } = await pool.query<KeyRow>({
    name: 'shares_of_key',
    text: `SELECT ${KEY_COLUMNS.join(', ')} FROM mpc_keys WHERE key_id = $1`,
    values: [keyId],
  })
  const [key] = keys
  if (key === undefined) throw new NotFound('mpc_key')
  return toShares(walletId, key, await newestRefreshes(pool, key.key_id))
}

/** @throws NotFound `refresh_not_found` */
export async function readRefresh({ pool }: Pick<Context, 'pool'>, refreshId: string): Promise<RefreshView> {
  const { rows } = await pool.query<RefreshRow>({
    name: 'refresh',
    text: `SELECT ${REFRESH_COLUMNS.join(', ')} FROM mpc_refreshes WHERE refresh_id = $1`,
    values: [refreshId],
  })
  const [row] = rows
  if (row === undefined) throw new NotFound('refresh')
  return toRefresh(row)
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
