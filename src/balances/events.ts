/**
 * The observed balances of a wallet, on the stream `balance-<walletId>`. Balances are decimal digits in strings, in
 * base units of the asset.
 */
import type { Asset } from '../core/assets.ts'
import type { Event } from '../core/messages.ts'

/** A block by number and hash. */
export type BlockRef = { readonly blockNumber: number; readonly blockHash: string }

/**
 * How a changed balance was found: in a block that touched the address, by reconciliation, or because the wallet was
 * new.
 */
export type ObservationCause = 'block' | 'reconciliation' | 'first_observation'

/** The balance of one asset of an address as of a block. */
export type Observation = BlockRef & { readonly asset: Asset; readonly balance: string }

export type BalanceChanged = Event<'BalanceChanged', Observation & { cause: ObservationCause; observedAt: string }>
/** The block of the last observation left the chain: this is the balance on the chain that replaced it. */
export type BalanceReorged = Event<
  'BalanceReorged',
  Observation & { orphanedBlockNumber: number; orphanedBlockHash: string; observedAt: string }
>

export type BalanceEvent = BalanceChanged | BalanceReorged
