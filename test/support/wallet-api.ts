/** The wallet routes over HTTP on a fresh database, and functions for calling them. */
import type { Test } from 'tap'
import { composeQuotas } from '../../src/compose/quotas.ts'
import { loadConfig } from '../../src/config.ts'
import { findReplay } from '../../src/event-log/accept.ts'
import { createMetrics, type Metrics } from '../../src/http/metrics.ts'
import { openingRoutes } from '../../src/wallets/opening-routes.ts'
import { walletRoutes } from '../../src/wallets/routes.ts'
import { type Answer, startTestApp } from './http.ts'
import { type WalletParts, withWallets } from './wallet-parts.ts'

export const FOREIGN = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const UNKNOWN_ID = 'wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'

/** Example requests. */
export const CREATE = { type: 'hd', network: 'ethereum', label: 'Main', environment: 'mainnet' }
export const WATCH = {
  address: FOREIGN,
  network: 'ethereum',
  label: 'Partner',
  notifications: { large_transfers: true, incoming_transactions: true },
}

export type Call = (url: string, body?: object, headers?: Record<string, string>) => Promise<Answer>
export type WalletApi = {
  readonly parts: WalletParts
  readonly metrics: Metrics
  readonly post: Call
  readonly patch: Call
  readonly get: Call
  readonly remove: Call
}

export async function withWalletApi(t: Test): Promise<WalletApi> {
  return walletApi(await withWallets(t))
}

/**
 * Another API process on the database of these parts.
 *
 * @param quotas its settings: `{ QUOTA_WALLETS: '2' }`; unlimited by default
 */
export async function walletApi(parts: WalletParts, quotas?: Readonly<Record<string, string>>): Promise<WalletApi> {
  const metrics = createMetrics('test')
  const config = quotas && loadConfig({ DATABASE_URL: parts.url, ...quotas })
  const held =
    config &&
    composeQuotas({ pool: parts.pool, config, metrics, findReplay: (metadata) => findReplay(parts.pool, metadata) })
  const { send } = await startTestApp({
    metrics,
    ...(held ? { quotas: held.quotas } : {}),
    routes: (app) => {
      openingRoutes(parts)(app)
      walletRoutes(parts)(app)
      held?.routes(app)
    },
  })
  const call =
    (method: 'POST' | 'PATCH' | 'GET' | 'DELETE'): Call =>
    (url, payload, headers = {}) =>
      send({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  return { parts, metrics, post: call('POST'), patch: call('PATCH'), get: call('GET'), remove: call('DELETE') }
}

export type WalletData = Record<string, unknown> & { readonly wallet_id: string }

export function dataOf(answer: Answer): WalletData {
  return answer.body.data as WalletData
}

export function pageOf(answer: Answer) {
  return answer.body.data as {
    wallets: { wallet_id: string; label: string }[]
    next_cursor: string | null
    has_more: boolean
  }
}
