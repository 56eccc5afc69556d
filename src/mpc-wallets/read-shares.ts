/** Reads the state of a wallet's shares for the API. */
import type { Pool } from 'pg'
import { NotFound } from '../core/errors.ts'
import type { RefreshReason } from './events.ts'
import type { Refresh } from './state.ts'

export type RefreshView = {
  readonly refresh_id: string
  readonly reason: RefreshReason
  /** The party whose share is repaired; null unless one was lost. */
  readonly party: number | null
  readonly status: Refresh['status']
  /** The epoch after the refresh; while it is open or if it failed, the epoch before it. */
  readonly epoch: number
  readonly requested_at: string
  readonly ended_at: string | null
  readonly failure: Refresh['failure']
}

export type SharesView = {
  readonly wallet_id: string
  readonly public_key: string
  readonly threshold: number
  readonly parties: number
  readonly epoch: number
  readonly refreshed_at: string
  readonly banned: readonly number[]
  /** Accusations: the two parties of each do not sign together. */
  readonly accusations: readonly { readonly party: number; readonly accused_by: number }[]
  readonly open_refresh: RefreshView | null
  /** The newest finished refresh. */
  readonly last_refresh: RefreshView | null
}

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
        text: `SELECT key_id, public_key, threshold, parties, epoch, refreshed_at, banned, coalesce(accusations, '[]') AS accusations FROM mpc_keys WHERE wallet_id = $1`,
        values: [walletId],
      })
      const [key] = keys
      if (key === undefined) throw new NotFound('mpc_key')
      const { key_id: keyId, refreshed_at: refreshedAt, ...shown } = key
      const refreshes = await newestRefreshes(pool, keyId)
      return {
        wallet_id: walletId,
        ...shown,
        refreshed_at: refreshedAt.toISOString(),
        open_refresh: refreshes.find(({ status }) => status === 'pending') ?? null,
        last_refresh: refreshes.find(({ status }) => status !== 'pending') ?? null,
      }
    },
    async readRefresh(refreshId) {
      const { rows } = await pool.query<RefreshRow>({
        name: 'refresh',
        text: `SELECT ${REFRESH_COLUMNS} FROM mpc_refreshes WHERE refresh_id = $1`,
        values: [refreshId],
      })
      const [row] = rows
      if (row === undefined) throw new NotFound('refresh')
      return toView(row)
    },
  }
}

type KeyRow = Pick<SharesView, 'public_key' | 'threshold' | 'parties' | 'epoch' | 'banned' | 'accusations'> & {
  readonly key_id: string
  readonly refreshed_at: Date
}

const REFRESH_COLUMNS = 'refresh_id, reason, party, status, epoch, requested_at, ended_at, failure'
type RefreshRow = Omit<RefreshView, 'requested_at' | 'ended_at'> & {
  readonly requested_at: Date
  readonly ended_at: Date | null
}

/** At most one refresh of a key is open, and it is the newest: two rows contain it and the last finished one. */
async function newestRefreshes(pool: Pool, keyId: string): Promise<readonly RefreshView[]> {
  const { rows } = await pool.query<RefreshRow>({
    name: 'newest_refreshes',
    text: `SELECT ${REFRESH_COLUMNS} FROM mpc_refreshes WHERE key_id = $1 ORDER BY refresh_id DESC LIMIT 2`,
    values: [keyId],
  })
  return rows.map(toView)
}

function toView({ requested_at: requestedAt, ended_at: endedAt, ...row }: RefreshRow): RefreshView {
  return { ...row, requested_at: requestedAt.toISOString(), ended_at: endedAt?.toISOString() ?? null }
}
