/** The declaration of wallets. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { WalletEvent } from './events.ts'
import type { KeyIndexesEvent } from './key-indexes-events.ts'

export const wallets = {
  name: 'wallets',
  ids: { wallet: 'wal' },
  scopes: ['wallets:read', 'wallets:write'],
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
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly wallets: typeof wallets
  }
}
