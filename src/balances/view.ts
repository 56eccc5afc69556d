/** A balance as its owner reads it. */
import type { Asset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'
import type { Network } from '../core/networks.ts'
import { usdValue } from './usd-value.ts'

export type BalanceView = {
  readonly balance: string
  readonly currency: string
  readonly usd_value: string | null
  readonly updated_at: string
  readonly network: Network
  readonly decimals: number
  readonly contract_address: string | null
  readonly available: string | null
  readonly pending_out: string | null
  readonly block_number: number
  readonly stale_since?: string
}

/** What was found of one asset; amounts in base units. */
export type FoundBalance = {
  readonly asset: Asset
  readonly balance: bigint
  readonly blockNumber: number
  /** ISO 8601. */
  readonly updatedAt: string
  /** What pending transactions hold back; `null` for a time that is past. */
  readonly held: bigint | null
  /** US dollars for one whole unit; `null` when it is not known. */
  readonly price: string | null
  /** ISO 8601: since when the balance may be out of date, because the token could not be read; `null` when it is not. */
  readonly staleSince: string | null
}

export function toView(network: Network, found: FoundBalance): BalanceView {
  const { asset, balance, held } = found
  const amount = (units: bigint) => formatAmount(units, asset.decimals)
  return {
    balance: amount(balance),
    currency: asset.symbol,
    usd_value: usdValue(balance, asset.decimals, found.price),
    updated_at: found.updatedAt,
    network,
    decimals: asset.decimals,
    contract_address: asset.contract,
    // An observation may already know of a transfer that the follower has not walked over and still holds for.
    available: held === null ? null : amount(balance > held ? balance - held : 0n),
    pending_out: held === null ? null : amount(held),
    block_number: found.blockNumber,
    ...(found.staleSince === null ? {} : { stale_since: found.staleSince }),
  }
}
