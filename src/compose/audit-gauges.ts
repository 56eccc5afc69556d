/** Audit gauges for operators: the age of the newest checkpoint, and how much of the log it covers. */
import { createCheckpointRows } from '../audit/checkpoints/checkpoint-rows.ts'
import type { Kernel } from './kernel.ts'

export function addAuditGauges({ metrics, pool, clock }: Kernel): void {
  const rows = createCheckpointRows(pool)
  metrics.addGauge(
    'bursar_audit_checkpoint_size',
    'Number of events that the newest checkpoint covers.',
    [],
    async () => {
      const newest = await rows.newest()
      return [{ labels: {}, value: newest?.size ?? 0 }]
    },
  )
  metrics.addGauge('bursar_audit_checkpoint_age_seconds', 'Age of the newest checkpoint in seconds.', [], async () => {
    const newest = await rows.newest()
    return newest === null ? [] : [{ labels: {}, value: (clock() - newest.takenAt.getTime()) / 1_000 }]
  })
  metrics.addGauge(
    'bursar_audit_unsigned_events',
    'Events after the newest checkpoint, counted up to 10,000.',
    [],
    async () => {
      // Counted up to a limit: a scrape must not read a long log.
      const { rows: counted } = await pool.query<{ n: string }>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM events, audit_tree
         WHERE (events.transaction_id, events.position) > (audit_tree.transaction_id, audit_tree.position) LIMIT 10000) AS newer`,
      )
      return [{ labels: {}, value: Number(counted[0]?.n ?? 0) }]
    },
  )
}
