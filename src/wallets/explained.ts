/** How `explain` reports a wallet. */
import { explained } from '../capability.ts'
import { walletAggregate } from './aggregate.ts'

export const explainedWallet = explained(walletAggregate, {
  kind: 'wallet',
  noun: 'wallet',
  transactionsOf: 'wallet',
  texts: {
    WalletRequested: ({ type, network, environment, label }) =>
      `${type} wallet "${label}" requested on ${network} ${environment}`,
    WalletCreated: ({ address, key }) =>
      `created with address ${address}, ${key.kind === 'hd' ? `hd key, index ${key.index}` : `mpc key ${key.keyId}`}`,
    WatchStarted: ({ address, network, environment, label }) =>
      `watched address ${address} "${label}" added on ${network} ${environment}`,
    WalletRelabelled: ({ label }) => `label changed to "${label}"`,
    WalletTagged: ({ tags }) => (tags.length === 0 ? 'tags removed' : `tags changed to ${tags.join(', ')}`),
    NotificationsChanged: () => 'notification settings changed',
    WalletArchived: () => 'archived',
    WalletRestored: () => 'restored from the archive',
  },
})
