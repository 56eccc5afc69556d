/** The declaration of activity: transfers that were observed on chain. */
import { READERS, readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { ObservedTransferEvent } from './events.ts'

export const activity = {
  name: 'activity',
  ids: { observedTransfer: 'obs' },
  tables: { observed_transfers: { follows: 'stream', grants: readBy([...READERS, 'follower']) } },
  streams: {
    observed: {
      rows: ['observed_transfers'],
      readScope: 'transactions:read',
      events: {
        TransferObserved: ['follower'],
        TransferConfirmed: ['follower'],
        TransferOrphaned: ['follower'],
      } satisfies EventWriters<ObservedTransferEvent>,
    },
  },
} as const satisfies Declaration
