/** A wallet in the form of the API, from its row in the read model. */
import type { wallets } from '../generated/prisma/client.ts'
import type { MpcTerms, Notifications } from './events.ts'

export type NotificationsView = {
  readonly large_transfers: boolean
  readonly incoming_transactions: boolean
  readonly large_transfer_threshold_usd: string
}

export type WalletView = {
  readonly wallet_id: string
  readonly address: string | null
  readonly type: string
  readonly network: string
  readonly environment: string
  readonly label: string
  readonly external_id: string | null
  readonly status: string
  readonly created_at: string
  readonly archived_at: string | null
  /** Mpc wallets only. */
  readonly mpc?: MpcTerms
  /** Mpc wallets only; null until the key is created. */
  readonly public_key?: string | null
  /** Watched wallets only. */
  readonly notifications?: NotificationsView
}

/** The response to a create request. */
export type CreatedView = Omit<WalletView, 'archived_at' | 'notifications'>
/** The response to a watch request. */
export type WatchedView = Pick<WalletView, 'wallet_id' | 'address' | 'type' | 'network' | 'label'>

export function toCreated({ archived_at: _, notifications: __, ...created }: WalletView): CreatedView {
  return created
}

export function toWatched({ wallet_id, address, type, network, label }: WalletView): WatchedView {
  return { wallet_id, address, type, network, label }
}

/** @param row as Prisma reads it */
export function toView(row: wallets): WalletView {
  const notifications = row.notifications as Notifications | null
  const mpc = row.mpc as MpcTerms | null
  return {
    wallet_id: row.wallet_id,
    address: row.address,
    type: row.type,
    network: row.network,
    environment: row.environment,
    label: row.label,
    external_id: row.external_id,
    status: row.status,
    created_at: row.created_at.toISOString(),
    archived_at: row.archived_at?.toISOString() ?? null,
    ...(mpc === null ? {} : { mpc, public_key: row.public_key }),
    ...(notifications === null ? {} : { notifications: notificationsView(notifications) }),
  }
}

function notificationsView(notifications: Notifications): NotificationsView {
  return {
    large_transfers: notifications.largeTransfers,
    incoming_transactions: notifications.incomingTransactions,
    large_transfer_threshold_usd: notifications.largeTransferThresholdUsd,
  }
}
