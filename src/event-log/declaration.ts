/** The declaration of the log: the tables beside `events` that it needs to append, to read and to lead. */
import { DATABASE_ROLES, READERS, readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { RequestEvent } from './request-events.ts'

export const eventLog = {
  name: 'event-log',
  // The metadata of an event name the request that caused it.
  ids: { request: 'req' },
  streams: {
    request: {
      rows: {},
      // It names resources of any kind.
      readScope: '*',
      events: { RequestChangedNothing: ['api'] } satisfies EventWriters<RequestEvent>,
    },
  },
  tables: {
    idempotency_keys: { follows: 'key', grants: readBy(READERS) },
    events: { beside: 'the event log', grants: readBy(DATABASE_ROLES) },
    checkpoints: {
      beside:
        'the positions of subscriptions; another installation reads from the start, and a job that is queued twice has no effect',
      grants: readBy(READERS, { dispatcher: 'SELECT, INSERT, UPDATE', sender: 'SELECT, INSERT, UPDATE' }),
    },
    heartbeats: {
      beside: 'the running processes',
      // Signers and parties check there that none of them is running before they rotate a key.
      grants: readBy(['api', 'dispatcher', 'operator', 'signer', 'submitter', 'party']),
    },
    leases: {
      beside: 'leases: which process works alone on something',
      // Signers and submitters count there who shares the partitions of lanes; the API sees who may send to a webhook.
      grants: readBy(['api', 'operator', 'signer', 'submitter']),
    },
    schema_versions: {
      beside: 'the migrations of the database, and the oldest program that runs with each; npm run migrate writes it',
      grants: readBy(DATABASE_ROLES),
    },
    process_logins: { beside: 'which database user reports as which party', grants: readBy(['operator']) },
    event_rules: {
      beside: 'what an append may write with each event; npm run migrate writes it',
      grants: readBy(['operator']),
    },
    role_rights: { beside: 'which events each database role can append; npm run migrate writes it', grants: {} },
  },
  errors: {
    conflict: {
      broken_chain: 'Write to the operator: the resource cannot be changed until the log was examined.',
    },
    unavailable: {
      database_busy: 'Try again.',
      limit_time_unknown: 'Try again when the network works: its newest block is too old.',
    },
  },
  counters: {
    bursar_set_aside_total: {
      help: 'Changes left out of a commit because the database cannot store them.',
      labels: [],
    },
    bursar_held_streams_total: {
      help: 'Streams that this process found with an event that cannot be read.',
      labels: [],
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly 'event-log': typeof eventLog
  }
}
