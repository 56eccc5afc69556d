/**
 * The events of an observed transfer: value that moved to or from a wallet on chain, whoever sent it. Amounts are decimal
 * digits in strings, in base units of the asset.
 */
import type { Asset } from '../core/assets.ts'
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

export const DIRECTIONS = ['in', 'out'] as const
/** As seen from the wallet. */
export type Direction = (typeof DIRECTIONS)[number]

/**
 * What the owner of the wallet is notified of, according to the type and the settings of the wallet when the transfer was
 * observed. `deposit`: it came to a wallet whose key is held here; `incoming` and `large_transfer`: the settings of a watch
 * wallet. `unopened`, beside `deposit`: it came to the address of the wallet on another network, where its key had no wallet.
 */
export type Notice = 'deposit' | 'unopened' | 'incoming' | 'large_transfer'

/** `usd`: US dollars, rounded half up to cents; `price`: US dollars of one whole unit; `priceAt`: when the feed updated it. */
export type Valuation = { readonly usd: string; readonly price: string; readonly priceAt: string }

export type BlockPlace = {
  readonly blockNumber: number
  readonly blockHash: string
  readonly blockTimestamp: string
}

export type ObservedTransfer = BlockPlace & {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly direction: Direction
  readonly hash: string
  /** Of the Transfer log, in the block; `null` for the native currency. */
  readonly logIndex: number | null
  /** EIP-55; `null` if the value went to a contract that the transaction created. */
  readonly counterparty: string | null
  readonly asset: Asset
  readonly amount: string
  /** `null` if no price is known, and for registered tokens. */
  readonly valuation: Valuation | null
  readonly notices: readonly Notice[]
  /** The transaction of this wallet that moved it; `null` if somebody else sent it. */
  readonly transactionId: string | null
}

/** It is in a block of the chain. Recorded again if a reorg moved it to another block. */
export type TransferObserved = Event<'TransferObserved', ObservedTransfer & { readonly observedAt: string }>
/** Its block has the required confirmations. */
export type TransferConfirmed = Event<
  'TransferConfirmed',
  {
    readonly blockNumber: number
    readonly blockHash: string
    readonly confirmations: number
    readonly confirmedAt: string
  }
>
/** Its block left the chain, even if it had been confirmed. */
export type TransferOrphaned = Event<
  'TransferOrphaned',
  {
    readonly blockNumber: number
    readonly blockHash: string
    readonly wasConfirmed: boolean
    readonly orphanedAt: string
  }
>

export type ObservedTransferEvent = TransferObserved | TransferConfirmed | TransferOrphaned
