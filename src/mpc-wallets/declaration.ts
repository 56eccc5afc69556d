/** The declaration of mpc keys: keys whose shares the parties hold. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS } from '../core/declaration.ts'
import type { MpcKeyEvent } from './events.ts'

export const mpcKeys = {
  name: 'mpc-wallets',
  ids: { mpcKey: 'mpk', refresh: 'rfr' },
  scopes: ['recovery:read', 'recovery:write'],
  tables: {
    mpc_keys: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'signer', 'party']) },
    mpc_refreshes: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'signer']) },
  },
  streams: {
    mpckey: {
      rows: ['mpc_keys', 'mpc_refreshes'],
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
} as const satisfies Declaration
