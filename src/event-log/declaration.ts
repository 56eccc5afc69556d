/** The declaration of the log: the tables beside `events` that it needs to append, to read and to lead. */
import { DATABASE_ROLES, READERS, readBy } from '../core/database-roles.ts'
import type { Declaration } from '../core/declaration.ts'

export const eventLog = {
  name: 'event-log',
  // The metadata of an event name the request that caused it.
  ids: { request: 'req' },
  tables: {
    idempotency_keys: { follows: 'key', grants: readBy(READERS) },
    events: { beside: 'the log', grants: readBy(DATABASE_ROLES) },
    checkpoints: {
      beside: 'how far subscriptions have read; they start again elsewhere, and what they queue again changes nothing',
      grants: readBy(READERS, { dispatcher: 'SELECT, INSERT, UPDATE' }),
    },
    heartbeats: {
      beside: 'which processes run',
      // Signers and parties check there that none of them is running before they rotate a key.
      grants: readBy(['api', 'dispatcher', 'operator', 'signer', 'party']),
    },
    leases: { beside: 'which process may act alone now', grants: readBy(['operator']) },
    role_rights: { beside: 'what each database role may append; npm run migrate writes it', grants: {} },
  },
} as const satisfies Declaration
