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

type Place = { readonly network: Network; readonly environment: Environment; readonly chainId: number }

/** `mpc` is `null` for wallets of other types. */
export type WalletRequested = Event<
  'WalletRequested',
  Place & { type: KeyedType; label: string; externalId: string | null; mpc: MpcTerms | null; requestedAt: string }
>
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
  | WalletCreated
  | WatchStarted
  | WalletRelabelled
  | WalletTagged
  | NotificationsChanged
  | WalletArchived
  | WalletRestored
