/**
 * The events of a wallet. A wallet with a key is requested first and gets its address from a signer; a watched one has
 * it from the start.
 */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

/** Types whose keys Bursar holds. */
export const KEYED_TYPES = ['mpc', 'hd'] as const
export type KeyedType = (typeof KEYED_TYPES)[number]
export const WALLET_TYPES = [...KEYED_TYPES, 'watch'] as const
export type WalletType = (typeof WALLET_TYPES)[number]

/** How a signer finds the key again. Not secret. */
export type WalletKey =
  | { readonly kind: 'hd'; readonly tenantId: string; readonly index: number }
  | { readonly kind: 'mpc'; readonly keyId: string }

/** How many parties sign together, and of how many: the parties 1 to `parties`. */
export type MpcTerms = { readonly threshold: number; readonly parties: number }

/** Notification settings of a watched address. */
export type Notifications = {
  readonly largeTransfers: boolean
  readonly incomingTransactions: boolean
  /** Decimal US dollars: transfers of at least this value are large. */
  readonly largeTransferThresholdUsd: string
}

/** Where a wallet is. */
export type Place = { readonly network: Network; readonly environment: Environment; readonly chainId: number }

/** The wallet whose key another one uses on its own chain, and the address of both. */
export type KeyOwner = { readonly walletId: string; readonly address: string }

/**
 * `mpc` is `null` for wallets of other types. `openedFrom`: it uses the key of that wallet, which names it in a
 * `NetworkOpened` of the same append; `null` for a wallet that gets a key of its own. `batchId`: the request that asked for
 * it together with others.
 */
export type WalletRequested = Event<
  'WalletRequested',
  Place & {
    type: KeyedType
    label: string
    externalId: string | null
    mpc: MpcTerms | null
    requestedAt: string
    openedFrom: KeyOwner | null
    batchId: string | null
  }
>
/**
 * In the stream of the wallet that the key belongs to: `walletId` uses the same key on another chain. Of two events for a
 * chain the first counts, so that on each chain one wallet has the key.
 */
export type NetworkOpened = Event<'NetworkOpened', Place & { walletId: string; openedAt: string }>
/**
 * `derivationPath` (BIP-44) lets any other program find an `hd` key from the seed alone. The last three fields are only
 * set for `mpc` keys: the compressed public key as 0x-prefixed hex, and the terms.
 */
export type WalletCreated = Event<
  'WalletCreated',
  {
    address: string
    key: WalletKey
    derivationPath: string | null
    createdAt: string
    publicKey: string | null
    threshold: number | null
    parties: number | null
  }
>
export type WatchStarted = Event<
  'WatchStarted',
  Place & { address: string; label: string; notifications: Notifications; startedAt: string }
>
export type WalletRelabelled = Event<'WalletRelabelled', { label: string; relabelledAt: string }>
/** All tags from now on, sorted, each once. A new wallet that has tags gets them in the append that opens it. */
export type WalletTagged = Event<'WalletTagged', { tags: readonly string[]; taggedAt: string }>
export type NotificationsChanged = Event<'NotificationsChanged', { notifications: Notifications; changedAt: string }>
export type WalletArchived = Event<'WalletArchived', { archivedAt: string }>
export type WalletRestored = Event<'WalletRestored', { restoredAt: string }>

export type WalletEvent =
  | WalletRequested
  | NetworkOpened
  | WalletCreated
  | WatchStarted
  | WalletRelabelled
  | WalletTagged
  | NotificationsChanged
  | WalletArchived
  | WalletRestored
