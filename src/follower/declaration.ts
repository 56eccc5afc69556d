/** The declaration of the chain follower: its cursor on each chain. */
import { READERS, readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { ChainEvent } from './events.ts'

export const follower = {
  name: 'follower',
  tables: {
    chain_blocks: {
      beside: 'read from the chain; an export contains them',
      isAppended: true,
      grants: readBy(READERS, { follower: 'SELECT, DELETE' }),
    },
    chain_cursors: {
      beside: 'the position of the follower; an export contains it',
      isAppended: true,
      grants: readBy([...READERS, 'signer'], { follower: 'SELECT, UPDATE (head, updated_at)' }),
    },
    chain_stalls: {
      beside: 'why a follower does not move now; another installation finds it again',
      grants: readBy(['api', 'operator'], { follower: 'SELECT, INSERT, UPDATE, DELETE' }),
    },
  },
  streams: {
    chain: {
      rows: { chain_blocks: 'chain', chain_cursors: 'chain', foreign_nonces: 'chain', outside_transactions: 'chain' },
      readScope: '*',
      events: {
        FollowerAdvanced: ['follower'],
        ReorgDetected: ['follower'],
        // The follower refuses to undo what is final: an operator has looked, and lets it.
        ReorgAccepted: ['operator'],
      } satisfies EventWriters<ChainEvent>,
    },
  },
  counters: {
    bursar_reorgs_total: {
      help: 'Reorgs of followed chains, and whether they were deeper than the recorded block hashes.',
      labels: ['network', 'beyond_window'],
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly follower: typeof follower
  }
}
