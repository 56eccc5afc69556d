/** The declaration of mpc keys: keys whose shares the parties hold. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { MpcKeyEvent } from './events.ts'

export const mpcKeys = {
  name: 'mpc-wallets',
  ids: { mpcKey: 'mpk', refresh: 'rfr' },
  tables: {
    mpc_keys: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'signer', 'party']) },
    mpc_refreshes: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'signer']) },
  },
  streams: {
    mpckey: {
      rows: {
        mpc_keys: {
          of: '{key_id}',
          changes: {
            MpcKeyGenerated: WHOLE_ROW,
            MpcKeyAssigned: ['wallet_id', 'tenant_id'],
            MpcSharesRefreshRequested: ['open_refresh', 'asked_at'],
            MpcSharesRefreshed: ['epoch', 'attempt_id', 'banned', 'accusations', 'open_refresh', 'refreshed_at'],
            MpcSharesRefreshFailed: ['open_refresh'],
            MpcPartyBanned: ['banned'],
            MpcPartyAccused: ['accusations'],
          },
        },
        mpc_refreshes: {
          of: '{key_id}',
          changes: {
            MpcSharesRefreshRequested: WHOLE_ROW,
            MpcSharesRefreshed: ['status', 'epoch', 'ended_at'],
            MpcSharesRefreshFailed: ['status', 'failure', 'ended_at'],
          },
        },
      },
      readScope: 'recovery:read',
      events: {
        MpcKeyGenerated: ['signer'],
        MpcKeyAssigned: ['signer'],
        MpcSharesRefreshRequested: ['api', 'dispatcher', 'signer'],
        MpcSharesRefreshed: ['signer'],
        MpcSharesRefreshFailed: ['signer'],
        MpcPartyBanned: ['signer'],
        MpcPartyAccused: ['signer'],
      } satisfies EventWriters<MpcKeyEvent>,
    },
  },
  // A refresh uses every party's CPU for seconds: more at once only slows each of them down.
  queues: { shares: { limits: { ...MPC_LIMITS, atOnce: 2 } } },
  tasks: ['mpc-refreshes'],
  errors: {
    not_found: {
      mpc_key_not_found: 'Try again when the key of the wallet is created.',
      refresh_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      refresh_in_progress: 'Wait for the refresh in progress.',
    },
  },
  counters: {
    bursar_mpc_bans_total: {
      help: 'Bans of parties from signing with a key, counted once per key and epoch.',
      labels: ['party'],
    },
    bursar_mpc_accusations_total: {
      help: 'Reports by one party that another party failed a check, counted once per key, epoch and pair of parties.',
      labels: ['party', 'accused_by'],
    },
    bursar_mpc_refusals_total: {
      help: 'Signatures that a party did not make, by party and kind of reason.',
      labels: ['party', 'kind'],
    },
    bursar_mpc_refused_messages_total: {
      help: 'Messages from peers that this party rejected, by reason.',
      labels: ['reason'],
    },
  },
  timers: {
    bursar_mpc_session_duration_seconds: {
      help: 'Duration of ceremonies at this party in seconds. A signing ceremony makes up to 8 signatures.',
      labels: ['ceremony', 'outcome'],
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly 'mpc-wallets': typeof mpcKeys
  }
}
