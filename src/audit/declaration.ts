/** The declaration of the audit: the tree over the log and its signed checkpoints. */
import { readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { EventSetAside } from './set-aside/events.ts'

// The operator can take checkpoints manually with the auditor's key; replacing that key replaces a checkpoint.
const WRITTEN = { auditor: 'SELECT, INSERT, UPDATE', operator: 'SELECT, INSERT, UPDATE' }

export const audit = {
  name: 'audit',
  scopes: { 'audit:read': {} },
  // An operator anchors a signed checkpoint of the log on chain.
  openings: { CheckpointAnchorRequested: { type: 'AUDIT_ANCHOR', writers: ['operator'], since: 3, isUnjudged: true } },
  subjects: ['checkpoint'],
  streams: {
    // An operator has examined a bad event of the log: from then on it has no effect.
    setaside: {
      rows: {},
      readScope: '*',
      events: { EventSetAside: ['operator'] } satisfies EventWriters<EventSetAside>,
    },
  },
  tables: {
    audit_checkpoints: {
      beside: 'signed checkpoints; the auditor of another installation signs its own',
      grants: readBy(['api', 'signer'], WRITTEN),
    },
    audit_tiles: {
      beside: 'the Merkle tree over the log; the auditor of another installation rebuilds it with the same root',
      grants: readBy(['api', 'signer'], WRITTEN),
    },
    bad_events: {
      beside: 'bad events that the auditor found in the log; another installation finds them again',
      grants: readBy([], { auditor: 'SELECT, INSERT', operator: 'SELECT, INSERT' }),
    },
    audit_tree: {
      beside: 'the position of the auditor',
      grants: readBy(['api', 'signer'], { auditor: 'SELECT, UPDATE', operator: 'SELECT, UPDATE' }),
    },
  },
  errors: {
    not_found: {
      checkpoint_not_found: 'Try again later: no checkpoint has been signed yet.',
      event_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      event_not_signed_yet: 'Try again after the next checkpoint.',
    },
  },
  counters: {
    bursar_audit_refusals_total: {
      help: 'Checkpoints that the auditor refused to sign, because the event log contradicts an earlier checkpoint.',
      labels: [],
    },
  },
  findings: [
    {
      place: 20,
      kinds: {
        audit_stopped: 'the auditor signs no checkpoints',
        bad_event: 'the log has an event that is not what was appended, or that cannot be read',
      },
    },
  ],
  tags: {
    Audit: { description: 'Read your events in the event log and prove them.', place: 120 },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly audit: typeof audit
  }
}
