/** A wallet in the form of the API, from its row in the read model. */
import { toIso } from '../core/instants.ts'
import type { ReadOrWrittenRow } from '../event-log/table-rows.ts'
import type { View } from '../http/view.ts'
import type { MpcTerms, Notifications, WalletType } from './events.ts'
import type { createdSchema, walletAtEventSchema, walletSchema, watchedSchema } from './schemas.ts'
import type { WalletStatus } from './state.ts'

export type WalletView = View<typeof walletSchema>

/** A row of the table `wallets` as node-postgres reads it, or as the projection writes it. */
export type WalletRow = ReadOrWrittenRow<
  'wallets',
  {
    readonly type: WalletType
    readonly status: WalletStatus
    readonly mpc: MpcTerms | null
    readonly notifications: Notifications | null
  }
>

export function toCreated({ archived_at: _, notifications: __, ...created }: WalletView): View<typeof createdSchema> {
  return created
}

export function toWatched({ wallet_id, address, type, network, label }: WalletView): View<typeof watchedSchema> {
  if (address === null) throw new Error('a watched wallet always has an address')
  return { wallet_id, address, type, network, label }
}

/** Old events keep their bytes: tags are missing where there are none. */
export function atEvent(row: WalletRow): View<typeof walletAtEventSchema> {
  const { tags, ...view } = toView(row)
  return tags.length === 0 ? view : { ...view, tags }
}

export function toView(row: WalletRow): WalletView {
  const { mpc, notifications } = row
  return {
    wallet_id: row.wallet_id,
    address: row.address,
    type: row.type,
    network: row.network,
    environment: row.environment,
    label: row.label,
    tags: row.tags,
    external_id: row.external_id,
    status: row.status,
    created_at: toIso(row.created_at),
    archived_at: row.archived_at === null ? null : toIso(row.archived_at),
    ...(row.opened_from === null ? {} : { opened_from: row.opened_from }),
    ...(mpc === null ? {} : { mpc, public_key: row.public_key }),
    ...(notifications === null ? {} : { notifications: notificationsView(notifications) }),
  }
}

function notificationsView(notifications: Notifications): NonNullable<WalletView['notifications']> {
  return {
    large_transfers: notifications.largeTransfers,
    incoming_transactions: notifications.incomingTransactions,
    large_transfer_threshold_usd: notifications.largeTransferThresholdUsd,
  }
}
