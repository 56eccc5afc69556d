/** What wallets do: they get an address, by a key of Bursar or by the request. */
import { type Capability, explained } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { walletAggregate } from './aggregate.ts'
import type { WalletCreated, WalletRequested, WalletTagged } from './events.ts'
import { hdKeyProblems } from './hd-key-problems.ts'
import { walletWork } from './jobs.ts'
import { keyIndexesAggregate } from './key-indexes.ts'
import { HD_REQUESTED_OF_TENANT, KEYED_OF_TENANT, MPC_REQUESTED_OF_TENANT, WATCHED_OF_TENANT } from './sql.ts'

/** How `explain` reports a wallet. */
const explainedWallet = explained(walletAggregate, {
  prefix: 'wal',
  noun: 'wallet',
  transactionsOf: 'wallet',
  texts: {
    WalletRequested: ({ type, network, environment, label, openedFrom, batchId }) => {
      const asked = openedFrom === null ? '' : `, at the address ${openedFrom.address} of ${openedFrom.walletId}`
      const batch = batchId === null ? '' : `, in the batch ${batchId}`
      return `${type} wallet "${label}" requested on ${network} ${environment}${asked}${batch}`
    },
    NetworkOpened: ({ network, environment, walletId }) =>
      `${walletId} uses the same key and address on ${network} ${environment}`,
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

const aggregate = anyAggregate(walletAggregate)

export const wallets: Capability = {
  aggregates: [anyAggregate(keyIndexesAggregate), aggregate],
  publishes: async () => [(await import('./published.ts')).publishedWallets],
  explains: [explainedWallet],
  keyKinds: { hd: { problems: hdKeyProblems } },
  verified: [{ table: 'wallets', aggregate, streamOf: `'wallet-' || r.wallet_id` }],
  past: {
    standing: {
      WalletRequested: ({ network, chainId }: WalletRequested['data'], walletId) => [
        { is: 'wallet', walletId, place: { network, chainId } },
      ],
      WalletTagged: ({ tags }: WalletTagged['data'], walletId) => [{ is: 'wallet', walletId, tags }],
      WalletCreated: ({ address }: WalletCreated['data']) => [{ is: 'address', address }],
    },
  },
  work: [walletWork],
  place: 10,
  routes: async () => (await import('./routes.ts')).walletApi,
  usage: {
    wallets: KEYED_OF_TENANT,
    watched_addresses: WATCHED_OF_TENANT,
    ceremonies: MPC_REQUESTED_OF_TENANT,
    waiting_addresses: HD_REQUESTED_OF_TENANT,
  },
}
