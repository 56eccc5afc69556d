/** The declaration of balances: recorded balances, prices, and tokens that could not be read. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, LANE_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { BalanceEvent } from './events.ts'

const OBSERVED = ['balance', 'block_number', 'block_hash', 'updated_at'] as const
const UPKEPT = { follower: 'SELECT, INSERT, UPDATE, DELETE' }

export const balances = {
  name: 'balances',
  tables: {
    balances: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'follower', 'signer']) },
    prices: { beside: 'read from the chain', grants: readBy(['api', 'operator'], UPKEPT) },
    unread_tokens: {
      beside: 'the responses of nodes about token contracts; another installation reads every token again',
      grants: readBy(['api', 'operator'], UPKEPT),
    },
  },
  streams: {
    balance: {
      rows: {
        balances: {
          of: '{wallet_id}',
          changes: { BalanceChanged: [...WHOLE_ROW, ...OBSERVED], BalanceReorged: OBSERVED },
        },
      },
      readScope: 'wallets:read',
      events: { BalanceChanged: ['follower'], BalanceReorged: ['follower'] } satisfies EventWriters<BalanceEvent>,
    },
  },
  // A wallet waits for its first balance, or a tenant's wallets for that of a token.
  queues: { observe: { limits: LANE_LIMITS } },
  errors: {
    not_found: {
      balance_not_observed: 'Use a later time: the balance was not known at this time.',
    },
    chain_error: {
      token_silent: 'Check the token: its contract returned no balance.',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly balances: typeof balances
  }
}
