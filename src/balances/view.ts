/** A balance in the form of the API. */
import type { Asset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'
import type { Network } from '../core/networks.ts'
import { usdValue } from '../core/usd-value.ts'
import type { View } from '../http/view.ts'
import type { assetBalanceSchema, balanceSchema } from './schemas.ts'

export type AssetBalanceView = View<typeof assetBalanceSchema>
export type BalanceView = View<typeof balanceSchema>

/** The record of one asset; amounts in base units. */
export type FoundBalance = {
  readonly asset: Asset
  readonly balance: bigint
  readonly blockNumber: number
  /** ISO 8601. */
  readonly updatedAt: string
  /** Holds of pending transactions; `null` for a past time. */
  readonly held: bigint | null
  /** US dollars per whole unit; `null` when unknown. */
  readonly price: string | null
  /** ISO 8601: the balance may be outdated since then because the token could not be read; `null` when it is not. */
  readonly staleSince: string | null
}

export function toView(network: Network, found: FoundBalance): AssetBalanceView {
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
    // The observation may already include a transfer that the follower has not processed and that is still held.
    available: held === null ? null : amount(balance > held ? balance - held : 0n),
    pending_out: held === null ? null : amount(held),
    block_number: found.blockNumber,
    ...(found.staleSince === null ? {} : { stale_since: found.staleSince }),
  }
}
