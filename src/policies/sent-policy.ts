/** A policy as clients write it: `schemas.ts` has the schema of it. */
import type { Network } from '../core/networks.ts'
import type { Action, Day, Effect, Per, UnknownPrice } from '../core/policy.ts'

export type SentAmong = { readonly in?: readonly string[]; readonly not_in?: readonly string[] }
export type SentBounds = { readonly gte?: string; readonly lt?: string }

export type SentMatch = {
  readonly actions?: readonly Action[]
  readonly networks?: readonly Network[]
  readonly wallets?: SentAmong
  readonly wallet_tags?: SentAmong
  readonly api_keys?: SentAmong
  readonly assets?: SentAmong
  readonly buys?: SentAmong
  readonly recipients?: SentAmong
  readonly contracts?: SentAmong
  readonly spenders?: SentAmong
  readonly methods?: SentAmong
  readonly typed_data?: {
    readonly primary_types?: SentAmong
    readonly verifying_contracts?: SentAmong
    readonly chain_ids?: readonly number[]
  }
  readonly amount?: SentBounds & { readonly asset_id: string }
  readonly amount_usd?: SentBounds
  readonly unlimited?: boolean
  readonly slippage_bps?: { readonly gte?: number; readonly lt?: number }
  readonly time?: {
    readonly zone: string
    readonly days?: readonly Day[]
    readonly month_days?: readonly number[]
    readonly from?: string
    readonly to?: string
  }
}

export type SentLimit = {
  readonly asset_id?: string
  readonly amount?: string
  readonly amount_usd?: string
  readonly count?: number
  readonly window_seconds: number
  readonly per?: Per
}

export type SentApproval = { readonly group: string; readonly quorum: number; readonly expires_in_seconds?: number }

export type SentRule = {
  readonly id: string
  readonly description?: string
  readonly effect: Effect
  readonly match?: SentMatch
  readonly limit?: SentLimit
  readonly on_unknown_price?: UnknownPrice
  readonly approval?: SentApproval
}

export type SentPolicy = {
  readonly default: 'allow' | 'deny'
  readonly price_max_age_seconds?: number
  readonly lists?: Readonly<Record<string, readonly string[]>>
  readonly rules: readonly SentRule[]
}
