/** The age of the newest checkpoint, how much of the log it covers, and bad events. */
import type { Gauge } from '../capability.ts'
import { createCheckpointRows } from './checkpoints/checkpoint-rows.ts'
import { readOpenBadEvents } from './found-bad.ts'

export const auditGauges: readonly Gauge[] = [
  {
    process: 'auditor',
    name: 'bursar_audit_bad_events',
    help: 'Bad events in the log that no operator has set aside.',
    labels: [],
    read: async ({ pool }) => [{ labels: {}, value: (await readOpenBadEvents(pool)).count }],
  },
  {
    process: 'auditor',
    name: 'bursar_audit_checkpoint_size',
    help: 'Number of events that the newest checkpoint covers.',
    labels: [],
    async read({ pool }) {
      const newest = await createCheckpointRows(pool).newest()
      return [{ labels: {}, value: newest?.size ?? 0 }]
    },
  },
  {
    process: 'auditor',
    name: 'bursar_audit_checkpoint_age_seconds',
    help: 'Age of the newest checkpoint in seconds.',
    labels: [],
    async read({ pool, clock }) {
      const newest = await createCheckpointRows(pool).newest()
      return newest === null ? [] : [{ labels: {}, value: (clock() - newest.takenAt.getTime()) / 1_000 }]
    },
  },
  {
    process: 'auditor',
    name: 'bursar_audit_unsigned_events',
    help: 'Events after the newest checkpoint, counted up to 10,000.',
    labels: [],
    async read({ pool }) {
      // Counted up to a limit: a scrape must not read a long log.
      const { rows } = await pool.query<{ n: string }>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM events, audit_tree
           WHERE (events.transaction_id, events.position) > (audit_tree.transaction_id, audit_tree.position) LIMIT 10000) AS newer`,
      )
      return [{ labels: {}, value: Number(rows[0]?.n ?? 0) }]
    },
  },
]
