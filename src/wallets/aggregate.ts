/** The read model of a wallet: its row. Pure. */
import { type Aggregate, opensItself, type ProjectionContext } from '../event-log/aggregate.ts'
import type { WrittenRow } from '../event-log/table-rows.ts'
import { type WalletCommand, walletDecider } from './decider.ts'
import type { WalletEvent } from './events.ts'
import type { KnownWallet, WalletState } from './state.ts'

const first = { version: 1, upcasters: [] }

export const walletAggregate: Aggregate<WalletState, WalletCommand, WalletEvent, 'wallets'> = {
  ...walletDecider,
  category: 'wallet',
  whenSetAside: 'end',
  schemas: {
    WalletRequested: {
      version: 3,
      upcasters: [(data) => ({ ...data, mpc: null }), (data) => ({ ...data, openedFrom: null, batchId: null })],
    },
    NetworkOpened: first,
    WalletCreated: {
      version: 2,
      upcasters: [(data) => ({ ...data, publicKey: null, threshold: null, parties: null })],
    },
    WatchStarted: first,
    WalletRelabelled: first,
    WalletTagged: first,
    NotificationsChanged: first,
    WalletArchived: first,
    WalletRestored: first,
  },
  opens: opensItself<WalletEvent>('WalletRequested', 'WatchStarted', 'WalletRestored'),
  project: (_before, after, context) => ({
    rows: after.status === 'unknown' ? [] : [{ table: 'wallets', row: toRow(after, context) }],
    holds: [],
  }),
}

function toRow(wallet: KnownWallet, { id, tenantId, version }: ProjectionContext): WrittenRow<'wallets'> {
  return {
    wallet_id: id,
    tenant_id: tenantId,
    type: wallet.type,
    network: wallet.network,
    environment: wallet.environment,
    chain_id: wallet.chainId,
    address: wallet.address,
    label: wallet.label,
    tags: wallet.tags,
    external_id: wallet.externalId,
    status: wallet.status,
    key_ref: wallet.key,
    notifications: wallet.notifications,
    failure: null,
    created_at: wallet.createdAt,
    archived_at: wallet.archivedAt,
    version,
    mpc: wallet.mpc,
    public_key: wallet.publicKey,
    opened_from: wallet.openedFrom,
    batch_id: wallet.batchId,
  }
}
