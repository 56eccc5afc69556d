/** A webhook sender without HTTP: what it would send, in which order, and what it records. The test sets its clock. */
import type { Pool } from 'pg'
import type { Test } from 'tap'
import { createLeases } from '../../src/event-log/leases.ts'
import type { Row } from '../../src/event-log/table-rows.ts'
import { type DrainContext, drainWebhook } from '../../src/webhooks/drain-webhook.ts'
import type { Posted, PostOutcome } from '../../src/webhooks/post.ts'
import { createRunningDrains } from '../../src/webhooks/running-drains.ts'
import { ASKED, MOST_REFUSED, TRIED } from '../../src/webhooks/sql.ts'
import { withLog } from './log.ts'

export const START = Date.parse('2026-11-24T00:00:00.000Z')
/** The id of an event that the log does not contain. */
export const LOST = 'lost.1'

type Sent = { readonly webhook: string; readonly event: string; readonly payload: string | null }

/** @param overrides what the sender does in another way */
export async function withDrain(
  t: Test,
  answer: (sent: Sent) => PostOutcome | Partial<Posted> | Promise<PostOutcome>,
  overrides: Partial<Pick<DrainContext, 'bodiesOf'>> = {},
) {
  const { pool } = await withLog(t)
  const time = { now: START }
  const clock = () => time.now
  const sent: Sent[] = []
  const disabled: string[] = []
  const ctx: DrainContext = {
    leases: createLeases({ pool, holder: 'sender@test:1', leaseMs: 10_000 }),
    pool,
    random: () => 0.5,
    running: createRunningDrains(),
    receiverOf: async (webhookId) => {
      const { rows } = await pool.query<Row<'webhook_health'>>('SELECT * FROM webhook_health WHERE webhook_id = $1', [
        webhookId,
      ])
      const exists = async (where: string) =>
        ((await pool.query(`SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND ${where} LIMIT 1`, [webhookId]))
          .rowCount ?? 0) > 0
      if (disabled.some((text) => text.startsWith(webhookId))) return null
      return {
        webhookId,
        version: 1,
        tenantId: 'acme',
        url: `https://${webhookId}.example`,
        updatedAt: new Date(START),
        pausedUntil: rows[0]?.paused_until ?? null,
        isFailing: rows[0]?.failing_since != null,
        refusesAll: (rows[0]?.refused ?? 0) >= MOST_REFUSED,
        replaysRestUntil: rows[0]?.replays_rest_until ?? null,
        refusesReplays: (rows[0]?.replays_refused ?? 0) >= MOST_REFUSED,
        isWaiting: await exists(TRIED),
        isAsked: await exists(ASKED),
      }
    },
    keysOf: async () => ({ secrets: [Buffer.alloc(24)], ed25519: [] }),
    bodiesOf: async (ids) =>
      new Map(ids.filter((id) => id !== LOST).map((id) => [id, (payload) => JSON.stringify({ id, payload })])),
    post: async (url, _headers, body) => {
      const { id: event, payload } = JSON.parse(body) as { readonly id: string; readonly payload: string | null }
      const one = { webhook: new URL(url).hostname.replace('.example', ''), event, payload }
      sent.push(one)
      const answered = await answer(one)
      return typeof answered === 'string' ? posted(answered) : { ...posted('failed'), ...answered }
    },
    disable: async ({ webhookId }, reason) => void disabled.push(`${webhookId} ${reason}`),
    clock,
    onAttempts: () => undefined,
    ...overrides,
  }
  /** @param isWanted whether other lines wait for the place of this one */
  const drain = (line: string, { isWanted = false } = {}) =>
    drainWebhook(ctx, line, { during: (work) => work(), isWanted: () => isWanted }, new AbortController().signal)
  return { pool, time, sent, disabled, ctx, drain }
}

export function posted(outcome: PostOutcome): Posted {
  const status = { delivered: 200, gone: 410, failed: 500, refused: null }[outcome]
  return { outcome, status, error: null, response: '', durationMs: 1, retryAfterMs: null }
}

/** Events `<stream>.<version>` in log order, with the type `transaction.signed`, or `<stream>.<version>.<type>`. */
export async function enqueue(pool: Pool, webhookId: string, events: readonly string[]): Promise<void> {
  await pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
     SELECT $1 || '-' || event, $1, 'acme', event, coalesce(nullif(split_part(event, '.', 3), ''), 'transaction.signed'), split_part(event, '.', 1), '5'::xid8, n, 0, $3, $3
       FROM unnest($2::text[]) WITH ORDINALITY AS e(event, n)`,
    [webhookId, events, new Date(START)],
  )
}
