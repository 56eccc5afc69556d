/** The shares of a wallet's key, and their refreshes, in the form of the API. */
import { toIso } from '../core/instants.ts'
import type { ReadOrWrittenRow, Row } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { RefreshReason } from './events.ts'
import type { refreshSchema, sharesSchema } from './schemas.ts'
import type { Refresh } from './state.ts'

export type RefreshView = View<typeof refreshSchema>
export type SharesView = View<typeof sharesSchema>

export const KEY_COLUMNS = [
  'key_id',
  'public_key',
  'threshold',
  'parties',
  'epoch',
  'refreshed_at',
  'banned',
  'accusations',
] as const

export type KeyRow = Pick<
  Row<'mpc_keys', { readonly banned: readonly number[]; readonly accusations: SharesView['accusations'] | null }>,
  (typeof KEY_COLUMNS)[number]
>

export const REFRESH_COLUMNS = [
  'refresh_id',
  'reason',
  'party',
  'status',
  'epoch',
  'requested_at',
  'ended_at',
  'failure',
] as const

export type RefreshRow = Pick<
  ReadOrWrittenRow<'mpc_refreshes', { readonly reason: RefreshReason; readonly status: Refresh['status'] }>,
  (typeof REFRESH_COLUMNS)[number]
>

/** @param refreshes the newest ones: the open one and the last finished one are among them */
export function toShares(walletId: string, key: KeyRow, refreshes: readonly RefreshView[]): SharesView {
  const { key_id: _, refreshed_at: refreshedAt, accusations, ...shown } = key
  return {
    wallet_id: walletId,
    ...shown,
    refreshed_at: refreshedAt.toISOString(),
    accusations: accusations ?? [],
    open_refresh: refreshes.find(({ status }) => status === 'pending') ?? null,
    last_refresh: refreshes.find(({ status }) => status !== 'pending') ?? null,
  }
}

export function toRefresh({ requested_at: requestedAt, ended_at: endedAt, ...row }: RefreshRow): RefreshView {
  return { ...row, requested_at: toIso(requestedAt), ended_at: endedAt === null ? null : toIso(endedAt) }
}
