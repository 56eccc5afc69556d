/**
 * The replays that are to be carried out. One that a sender has begun is carried out to its end, however long its receiver
 * is behind; one that none has begun within seven days of its request is not, and has expired.
 */
import type { Pool } from 'pg'
import type { Environment } from '../core/networks.ts'
import { EVENTS } from '../event-log/sql.ts'
import { LOG_START, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { Row } from '../event-log/table-rows.ts'
import { KNOWN, REPLAY_EXPIRES_AFTER_DAYS } from './sql.ts'
import { chosenLast, namesIn, readTerms, type Target } from './targets.ts'

const EXPIRES_AFTER_MS = REPLAY_EXPIRES_AFTER_DAYS * 86_400_000

type Json = { readonly types: readonly string[] | null }
type OpenRow = Row<'webhook_replays', Json> &
  Pick<Row<'webhook_replay_progress'>, 'position'> & {
    readonly transaction_id: string
    readonly end_transaction_id: string
    readonly end_position: string
    readonly chosen_type: string
    readonly chosen_version: number
    readonly chosen: unknown
  }

export type OpenReplay = {
  readonly row: OpenRow
  /** Up to where it was carried out: the start of the log at first. */
  readonly place: SubscriptionPosition
  /** The place of the event that requested it. */
  readonly end: SubscriptionPosition
  readonly target: Target
}

/** Begins those that were requested. They are complete once all their deliveries are queued. */
export async function beginReplays(pool: Pool, now: number): Promise<void> {
  await pool.query({
    name: 'begin_webhook_replays',
    text: `INSERT INTO webhook_replay_progress (replay_id, transaction_id, position, advanced_at)
           SELECT r.replay_id, '0'::xid8, 0, $1 FROM webhook_replays AS r JOIN webhooks AS w USING (webhook_id)
            WHERE r.requested_at > $2 AND w.${KNOWN}
              AND NOT EXISTS (SELECT FROM webhook_replay_progress AS p WHERE p.replay_id = r.replay_id)
           ON CONFLICT DO NOTHING`,
    values: [new Date(now), new Date(now - EXPIRES_AFTER_MS)],
  })
}

/** Those that were begun and are not complete, oldest first. While their webhook is disabled, they wait. */
export async function loadOpenReplays(pool: Pool): Promise<OpenReplay[]> {
  const { rows } = await pool.query<OpenRow>({
    name: 'open_webhook_replays',
    text: `SELECT r.*, p.transaction_id::text, p.position, e.type AS chosen_type, e.schema_version AS chosen_version, e.data AS chosen,
                  requested.transaction_id::text AS end_transaction_id, requested.position AS end_position
             FROM webhook_replay_progress AS p JOIN webhook_replays AS r USING (replay_id) JOIN webhooks AS w USING (webhook_id)
             JOIN ${EVENTS} AS requested ON requested.stream_id = 'webhook-' || r.webhook_id AND requested.stream_version = r.version
            CROSS JOIN ${chosenLast('r.webhook_id', 'e.stream_version < r.version')}
            WHERE p.ended_at IS NULL AND w.status = 'enabled' ORDER BY r.replay_id`,
  })
  return rows.flatMap((row) => {
    const terms = readTerms({ type: row.chosen_type, schema_version: row.chosen_version, data: row.chosen })
    const types = namesIn(row.types)
    // A row that nobody can read stops no other replay.
    if (terms === undefined || types === undefined) return []
    const { webhook_id: webhookId, tenant_id: tenantId, environment } = row
    return {
      row,
      place: placeOf(row.transaction_id, row.position),
      end: placeOf(row.end_transaction_id, row.end_position),
      target: {
        webhookId,
        tenantId,
        environment: environment as Environment,
        after: LOG_START,
        until: null,
        ...terms,
        types: types ?? terms.types,
      },
    }
  })
}

function placeOf(transactionId: string, position: string): SubscriptionPosition {
  return { transactionId: BigInt(transactionId), position: BigInt(position) }
}
