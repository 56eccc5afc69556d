/** The facts of a wallet's life. A wallet that signs is requested first and gets its address from a signer; a watched one has it. */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

/** Types whose keys are ours. */
export const KEYED_TYPES = ['mpc', 'hd'] as const
export type KeyedType = (typeof KEYED_TYPES)[number]
export const WALLET_TYPES = [...KEYED_TYPES, 'watch'] as const
export type WalletType = (typeof WALLET_TYPES)[number]

/** How a signer finds the key again. Nothing in it is secret. */
export type WalletKey =
  | { readonly kind: 'hd'; readonly tenantId: string; readonly index: number }
  | { readonly kind: 'mpc'; readonly keyId: string }

/** How many parties sign together, and of how many. They are the parties 1 to `parties`. */
export type MpcTerms = { readonly threshold: number; readonly parties: number }

/** What the owner of a watched address wants to hear of. */
export type Notifications = {
  readonly largeTransfers: boolean
  readonly incomingTransactions: boolean
  /** Decimal US dollars: transfers of this worth or more are large. */
  readonly largeTransferThresholdUsd: string
}

type Place = { readonly network: Network; readonly environment: Environment; readonly chainId: number }

/** `mpc` is `null` for wallets of other types. */
export type WalletRequested = Event<
  'WalletRequested',
  Place & { type: KeyedType; label: string; externalId: string | null; mpc: MpcTerms | null; requestedAt: string }
>
/**
 * `derivationPath` (BIP-44) finds an `hd` key from the seed alone, with any other program. The last three are of `mpc` keys
 * alone: the compressed public key as 0x-prefixed hex, and the terms as they are.
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
export type NotificationsChanged = Event<'NotificationsChanged', { notifications: Notifications; changedAt: string }>
export type WalletArchived = Event<'WalletArchived', { archivedAt: string }>
export type WalletRestored = Event<'WalletRestored', { restoredAt: string }>

export type WalletEvent =
  | WalletRequested
  | WalletCreated
  | WatchStarted
  | WalletRelabelled
  | NotificationsChanged
  | WalletArchived
  | WalletRestored
