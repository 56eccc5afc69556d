/** The wallet routes over HTTP on a fresh database, and functions for calling them. */
import type { Test } from 'tap'
import { composeQuotas } from '../../src/compose/quotas.ts'
import type { Environ } from '../../src/config.ts'
import { type Served, serve, startApiProcess } from './capabilities.ts'
import type { Answer } from './http.ts'
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

export type WalletApi = Served & Pick<WalletParts, 'metrics'> & { readonly parts: WalletParts }

export async function withWalletApi(t: Test): Promise<WalletApi> {
  const parts = await withWallets(t)
  return { parts, metrics: parts.metrics, ...(await serve(parts, ['wallets'])) }
}

/**
 * Another API process on the database of these parts.
 *
 * @param quotas its settings: `{ QUOTA_WALLETS: '2' }`
 */
export async function walletApi(t: Test, parts: WalletParts, quotas: Environ): Promise<WalletApi> {
  const ctx = startApiProcess(t, parts.url, {}, quotas)
  return { parts, metrics: ctx.metrics, ...(await serve(ctx, ['wallets'], composeQuotas(ctx))) }
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
