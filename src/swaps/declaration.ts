/** The declaration of swaps: quotes, and the swaps that use them. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { SwapEvent } from './events.ts'

export const swaps = {
  name: 'swaps',
  ids: { quote: 'quo', swap: 'swap' },
  tables: {
    swap_quotes: {
      beside: 'what exchanges answered at a block, for half a minute; another installation asks them again',
      grants: { api: 'SELECT, INSERT, DELETE', operator: 'SELECT' },
    },
    swaps: { follows: 'stream', grants: readBy(READERS) },
  },
  openings: {
    SwapRequested: { type: 'SWAP', writers: ['api'], since: 3, keepsLogs: true },
    TokenApprovalRequested: { type: 'APPROVAL', writers: ['api'], since: 3 },
    // An operator deploys the guard of swaps on a chain.
    SwapGuardDeployRequested: { type: 'SWAP_GUARD_DEPLOY', writers: ['operator'], since: 3 },
  },
  subjects: ['swap'],
  streams: {
    swap: {
      rows: { swaps: { of: '{swap_id}', changes: { SwapRecorded: WHOLE_ROW } } },
      readScope: 'transactions:read',
      events: { SwapRecorded: ['api'] } satisfies EventWriters<SwapEvent>,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly swaps: typeof swaps
  }
}
