/** Wallets as public events: each is the wallet as of that event. */
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { walletAggregate } from './aggregate.ts'
import { walletSchema } from './schemas.ts'
import { toView, type WalletRow } from './view.ts'

export const publishedWallets = published(walletAggregate, {
  resource: 'wallet',
  scope: 'wallets:read',
  types: {
    'wallet.requested': 'A wallet was requested. Its address follows when its key is created.',
    'wallet.created': 'A wallet has its address, or an address is watched.',
    'wallet.updated': 'The label or the notification settings of a wallet changed.',
    'wallet.archived': 'A wallet was archived.',
    'wallet.restored': 'An archived wallet was restored.',
  },
  events: {
    WalletRequested: ['wallet.requested'],
    WalletCreated: ['wallet.created'],
    WatchStarted: ['wallet.created'],
    WalletRelabelled: ['wallet.updated'],
    NotificationsChanged: ['wallet.updated'],
    WalletArchived: ['wallet.archived'],
    WalletRestored: ['wallet.restored'],
  },
  schema: named('WalletAtEvent', walletSchema),
  render(source) {
    const [row] = projectChange(walletAggregate, source, 'wallets')
    return row === undefined ? null : { resourceId: source.id, data: toView(row as WalletRow) }
  },
})
