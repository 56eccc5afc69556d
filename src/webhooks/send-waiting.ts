/** Ends all waits of a webhook, because its owner says that its receiver works. */
import type { Pool } from 'pg'
import { PENDING } from './sql.ts'

/** What waits for its next attempt, up to a day after failures, is due at this time, and no pause goes on. */
export type SendWaiting = (webhookId: string, now: Date) => Promise<void>

export function createSendWaiting(pool: Pool): SendWaiting {
  return async (webhookId, now) => {
    await pool.query({ name: 'send_waiting_deliveries', text: SEND, values: [webhookId, now] })
  }
}

const SEND = `WITH due AS (
    UPDATE webhook_deliveries SET due_at = $2 WHERE webhook_id = $1 AND ${PENDING} AND attempts > 0 AND due_at > $2
  ) UPDATE webhook_health SET paused_until = NULL, replays_rest_until = NULL, replays_refused = 0, refused = 0, refused_types = '{}' WHERE webhook_id = $1`
