/** Wallets as public events: each is the wallet as of that event. */
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { walletAggregate } from './aggregate.ts'
import { walletAtEventSchema } from './schemas.ts'
import { atEvent, type WalletRow } from './view.ts'

export const publishedWallets = published(walletAggregate, {
  resource: 'wallet',
  scope: 'wallets:read',
  types: {
    'wallet.requested': 'A wallet was requested. Its address follows when its key is created.',
    'wallet.created': 'A wallet has its address, or an address is watched.',
    'wallet.updated': 'The label, the tags or the notification settings of a wallet changed.',
    'wallet.archived': 'A wallet was archived.',
    'wallet.restored': 'An archived wallet was restored.',
  },
  events: {
    WalletRequested: ['wallet.requested'],
    // The events of the wallet that it opens say it.
    NetworkOpened: [],
    WalletCreated: ['wallet.created'],
    WatchStarted: ['wallet.created'],
    WalletRelabelled: ['wallet.updated'],
    WalletTagged: ['wallet.updated'],
    NotificationsChanged: ['wallet.updated'],
    WalletArchived: ['wallet.archived'],
    WalletRestored: ['wallet.restored'],
  },
  schema: walletAtEventSchema,
  render(source) {
    const [row] = projectChange(walletAggregate, source, 'wallets')
    return row === undefined ? null : { resourceId: source.id, data: atEvent(row as WalletRow) }
  },
})
