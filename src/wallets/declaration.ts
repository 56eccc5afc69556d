/** The declaration of wallets. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { WalletEvent } from './events.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'

export const wallets = {
  name: 'wallets',
  ids: { wallet: 'wal', walletBatch: 'walb' },
  scopes: { 'wallets:read': {}, 'wallets:write': {} },
  tables: {
    wallets: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'signer', 'follower', 'party']) },
  },
  streams: {
    wallet: {
      rows: {
        wallets: {
          of: '{wallet_id}',
          changes: {
            WalletRequested: WHOLE_ROW,
            NetworkOpened: [],
            WatchStarted: WHOLE_ROW,
            WalletCreated: ['status', 'address', 'key_ref', 'public_key'],
            WalletRelabelled: ['label'],
            WalletTagged: ['tags'],
            NotificationsChanged: ['notifications'],
            WalletArchived: ['status', 'archived_at'],
            WalletRestored: ['status', 'archived_at'],
          },
        },
      },
      readScope: 'wallets:read',
      events: {
        WalletRequested: ['api'],
        NetworkOpened: ['api'],
        WalletCreated: ['signer'],
        WatchStarted: ['api'],
        WalletRelabelled: ['api'],
        WalletTagged: ['api'],
        NotificationsChanged: ['api'],
        WalletArchived: ['api'],
        WalletRestored: ['api'],
      } satisfies EventWriters<WalletEvent>,
    },
    keyindexes: {
      rows: {},
      readScope: 'wallets:read',
      events: {
        KeyIndexAllotted: ['signer'],
        KeyIndexSkipped: ['signer'],
        KeyIndexRangeStarted: ['signer'],
      } satisfies EventWriters<KeyIndexesEvent>,
    },
  },
  // A wallet waits for its address. Creating an mpc key uses every party's CPU for seconds.
  queues: { wallet: { limits: QUICK_LIMITS, mpcLimits: { ...MPC_LIMITS, atOnce: 3 } } },
  errors: {
    validation_error: {
      duplicate_external_id: 'Use each external_id for one item.',
      mpc_only: 'Use an mpc wallet, or omit the field.',
      threshold_too_high: 'Use a lower threshold or more parties.',
      threshold_too_low: 'Use a higher threshold.',
      too_many_parties: 'Use at most as many parties as the installation has.',
      use_key_owner: 'Use the wallet that the message names: the key belongs to it.',
      wallet_not_found: 'Use ids of your wallets in the environment of the API key.',
      watch_only: 'Use a wallet with a key: watch wallets cannot sign.',
      watch_wallets_only: 'Omit the field: only watch wallets have it.',
    },
    not_found: {
      wallet_archived: 'Read the wallet with `include=archived`, or restore it.',
      wallet_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      address_in_use: 'Delete the other wallet with this address first.',
      address_is_own_wallet: 'Use the wallet that has this address: it is already followed.',
      external_id_taken: 'Use another external_id.',
      wallet_archived: 'Restore the wallet.',
      wallet_has_balance: 'Move the balance, or delete with `force=true`.',
      wallet_has_pending_transactions: 'Wait for the pending transactions of the wallet.',
      wallet_not_ready: 'Wait until the wallet has an address.',
      watch_exists: 'Use the existing watch wallet of this address.',
    },
  },
  tags: {
    Wallets: { description: 'Create wallets, watch addresses and read balances.', place: 10 },
  },
  quotas: {
    wallets: {
      kind: 'counted',
      place: 10,
      // A wallet is a few rows and costs nothing while idle: an exchange with a deposit address for each customer fits.
      default: 100_000,
      description: 'Maximum number of hd and mpc wallets of a tenant, including archived ones',
      counted: 'wallets, including archived ones',
      remedy: 'Use or restore an existing wallet',
      retryAfterSeconds: null,
    },
    watched_addresses: {
      kind: 'counted',
      place: 20,
      // Fewer than wallets: watching costs the tenant nothing, and the follower reads each active address at each block.
      default: 10_000,
      description: 'Maximum number of watched addresses of a tenant, including archived ones',
      counted: 'watched addresses, including archived ones',
      remedy: 'Restore an archived wallet',
      retryAfterSeconds: null,
    },
    waiting_addresses: {
      kind: 'counted',
      place: 75,
      // A signer makes thousands in a second, in chunks: the request that fills it waits for seconds.
      default: 20_000,
      description: 'Maximum number of hd wallets of a tenant that wait for their address',
      counted: 'hd wallets that wait for their address',
      remedy: 'Wait until some of them have their address',
      retryAfterSeconds: 1,
    },
    ceremonies: {
      kind: 'counted',
      place: 70,
      // Of every capability that asks signers for something.
      // Each takes tens of milliseconds of a signer, more with mpc parties: a thousand finish within a minute or two.
      default: 1_000,
      description:
        'Maximum number of unfinished mpc wallets, share refreshes, signatures (of messages, typed data, vouchers) and exports of a tenant, in total',
      counted: 'unfinished mpc wallets, share refreshes, signatures and exports',
      remedy: 'Wait until some of them are finished',
      retryAfterSeconds: 1,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly wallets: typeof wallets
  }
}
