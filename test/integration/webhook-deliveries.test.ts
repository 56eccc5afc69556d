/** What is sent to webhooks, in which order, and what a failing receiver costs. */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { createLeases } from '../../src/event-log/leases.ts'
import { createDeliveries } from '../../src/webhooks/deliveries.ts'
import { createDrainWebhook, type DrainPorts } from '../../src/webhooks/drain-webhook.ts'
import type { Posted, PostOutcome } from '../../src/webhooks/post.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-schedule.ts'
import { createRunningDrains } from '../../src/webhooks/running-drains.ts'
import { ASKED, MOST_REFUSED, TRIED } from '../../src/webhooks/sql.ts'
import { withLog } from '../support/log.ts'

const START = Date.parse('2026-11-24T00:00:00.000Z')
const DAY = 86_400_000
/** The id of an event that the log does not contain. */
const LOST = 'lost.1'

type Sent = { readonly webhook: string; readonly event: string }

async function withSender(t: Test, answer: (sent: Sent) => PostOutcome) {
  const { pool } = await withLog(t)
  const time = { now: START }
  const clock = () => time.now
  const sent: Sent[] = []
  const disabled: string[] = []
  const deliveries = createDeliveries({ pool, clock, random: () => 0.5 })
  const ports: DrainPorts = {
    leases: createLeases({ pool, holder: 'sender@test:1', leaseMs: 10_000 }),
    deliveries,
    running: createRunningDrains(),
    receiverOf: async (webhookId) => {
      const { rows } = await pool.query<{ paused_until: Date | null; failing_since: Date | null; refused: number }>(
        'SELECT paused_until, failing_since, refused FROM webhook_health WHERE webhook_id = $1',
        [webhookId],
      )
      const exists = async (where: string) =>
        ((await pool.query(`SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND ${where} LIMIT 1`, [webhookId]))
          .rowCount ?? 0) > 0
      if (disabled.some((text) => text.startsWith(webhookId))) return null
      return {
        webhookId,
        version: 1,
        tenantId: 'acme',
        url: `https://${webhookId}.example`,
        payload: 'full',
        updatedAt: new Date(START),
        pausedUntil: rows[0]?.paused_until ?? null,
        isFailing: rows[0]?.failing_since != null,
        refusesAll: (rows[0]?.refused ?? 0) >= MOST_REFUSED,
        replaysRestUntil: null,
        isWaiting: await exists(TRIED),
        isAsked: await exists(ASKED),
      }
    },
    keysOf: async () => ({ secrets: [Buffer.alloc(24)], ed25519: [] }),
    bodiesOf: async (ids) => new Map(ids.filter((id) => id !== LOST).map((id) => [id, JSON.stringify({ id })])),
    post: async (url, _headers, body) => {
      const one = { webhook: new URL(url).hostname.replace('.example', ''), event: JSON.parse(body).id as string }
      sent.push(one)
      return posted(answer(one))
    },
    disable: async ({ webhookId }, reason) => void disabled.push(`${webhookId} ${reason}`),
    clock,
    onAttempts: () => undefined,
  }
  const drainOnce = createDrainWebhook(ports)
  const place = { during: <T>(work: () => Promise<T>) => work(), isWanted: () => false }
  const drain = (line: string) => drainOnce(line, place, new AbortController().signal)
  return { pool, time, sent, disabled, deliveries, drain }
}

function posted(outcome: PostOutcome): Posted {
  const status = { delivered: 200, gone: 410, failed: 500, refused: null }[outcome]
  return { outcome, status, error: null, response: '', durationMs: 1, retryAfterMs: null }
}

/** Events `<stream>.<version>` in log order. */
async function enqueue(pool: Pool, webhookId: string, events: readonly string[]): Promise<void> {
  await pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
     SELECT $1 || '-' || event, $1, 'acme', event, 'transaction.signed', split_part(event, '.', 1), '5'::xid8, n, 0, $3, $3
       FROM unnest($2::text[]) WITH ORDINALITY AS e(event, n)`,
    [webhookId, events, new Date(START)],
  )
}

t.test('the events of a resource arrive in their order, and those of others do not wait for them', async (t) => {
  let isBroken = true
  const { pool, time, sent, drain } = await withSender(t, ({ event }) =>
    isBroken && event === 'a.1' ? 'failed' : 'delivered',
  )
  await enqueue(pool, 'one', ['a.1', 'a.2', 'b.1', 'a.3', 'b.2'])
  await drain('one')
  t.strictSame(sent.map(({ event }) => event).sort(), ['a.1', 'b.1', 'b.2'], 'a.2 waits for a.1')
  isBroken = false
  await drain('one')
  t.equal(sent.length, 3, 'a.1 is not due yet')
  time.now += 6_000
  await drain('one')
  t.strictSame(
    sent.slice(3).map(({ event }) => event),
    ['a.1', 'a.2', 'a.3'],
  )
  const { rows } = await pool.query('SELECT DISTINCT state FROM webhook_deliveries')
  t.strictSame(rows, [{ state: 'delivered' }])
})

t.test(
  'a receiver that is down for days costs few requests and no delivery its attempts, and is then disabled',
  async (t) => {
    const { pool, time, sent, disabled, drain } = await withSender(t, ({ webhook }) =>
      webhook === 'dead' ? 'failed' : 'delivered',
    )
    const many = Array.from({ length: 100 }, (_, n) => `s${n}.1`)
    await enqueue(pool, 'dead', many)
    await enqueue(pool, 'healthy', many)
    await drain('dead')
    t.ok(sent.length >= 8 && sent.length < 16, 'after eight requests that failed, nothing is sent for a while')
    await drain('healthy')
    t.equal(sent.filter(({ webhook }) => webhook === 'healthy').length, 100, 'the healthy one gets all')
    await enqueue(pool, 'dead', ['z.1', 'z.2'])
    let most = 0
    for (let round = 0; round < 12 * 24 * 6 && disabled.length === 0; round += 1) {
      time.now += DAY / 24 / 2
      const before = sent.length
      await drain('dead')
      most = Math.max(most, sent.length - before)
    }
    t.equal(most, 1, 'one that fails is tried with one delivery')
    t.strictSame(disabled, ['dead failing'])
    t.equal(Math.round((time.now - START) / DAY), 5)
    const { rows } = await pool.query(
      `SELECT (SELECT gaps FROM webhook_health WHERE webhook_id = 'dead') AS gaps, max(attempts) AS most,
            count(*) FILTER (WHERE state = 'failed') AS failed FROM webhook_deliveries WHERE webhook_id = 'dead'`,
    )
    t.ok(rows[0].most < MAX_ATTEMPTS, 'deliveries take turns')
    t.strictSame([rows[0].failed, rows[0].gaps], ['0', '0'])
  },
)

t.test('a receiver that answers 410 is disabled, and the event stays pending', async (t) => {
  const { pool, disabled, drain } = await withSender(t, () => 'gone')
  await enqueue(pool, 'one', ['a.1'])
  await drain('one')
  t.strictSame(disabled, ['one gone'])
  const { rows } = await pool.query('SELECT state, attempts FROM webhook_deliveries')
  t.strictSame(rows, [{ state: 'pending', attempts: 1 }])
})

t.test('a sender that dies before it records a response sends the same event again', async (t) => {
  const { pool, sent, deliveries, drain } = await withSender(t, () => 'delivered')
  await enqueue(pool, 'one', ['a.1', 'a.2'])
  const line = { webhookId: 'one', isReplay: false }
  const [first] = (await deliveries.next({ line, rest: 'all', isAsked: false, isWaiting: false })).deliveries
  t.equal(first?.event_id, 'a.1')
  // It was sent, and nothing was recorded.
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1', 'a.2'],
  )
  if (first) await deliveries.record('one', [{ delivery: first, posted: posted('failed'), isRefused: false }])
  const { rows } = await pool.query(`SELECT state FROM webhook_deliveries WHERE event_id = 'a.1'`)
  t.strictSame(rows, [{ state: 'delivered' }], 'a late record does not undo a delivery')
})

t.test(
  'an event that the log does not contain is given up with a reason, and holds up no other resource',
  async (t) => {
    const { pool, time, sent, disabled, drain } = await withSender(t, () => 'delivered')
    await enqueue(pool, 'one', [LOST, 'a.1', 'lost.2'])
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1, time.now += DAY * 1.1) {
      await enqueue(pool, 'one', [`b${attempt}.1`])
      await drain('one')
    }
    await drain('one')
    const others = ['a.1', ...Array.from({ length: MAX_ATTEMPTS }, (_, n) => `b${n}.1`)]
    const ids = sent.map(({ event }) => event)
    t.strictSame([...ids.slice(0, -1).sort(), ids.at(-1)], [...others, 'lost.2'], 'the next of its resource follows')
    t.strictSame(disabled, [])
    const { rows } = await pool.query(
      `SELECT state, attempts, array_agg(DISTINCT made ->> 'error') AS errors
         FROM webhook_deliveries CROSS JOIN jsonb_array_elements(attempt_list) AS made
      WHERE event_id = $1 GROUP BY state, attempts`,
      [LOST],
    )
    t.strictSame(rows, [
      { state: 'failed', attempts: MAX_ATTEMPTS, errors: ['the log does not contain the event lost.1'] },
    ])
  },
)

t.test('a webhook with thousands of deliveries behind one that waits is not looked at all the time', async (t) => {
  const { pool, time, sent, drain } = await withSender(t, ({ event }) => (event === 'a.1' ? 'failed' : 'delivered'))
  await enqueue(pool, 'one', ['a.1', 'b.1', ...Array.from({ length: 10_000 }, (_, n) => `a.${n + 2}`)])
  await drain('one')
  t.strictSame(sent.map(({ event }) => event).sort(), ['a.1', 'b.1'])
  await enqueue(pool, 'one', ['c.1'])
  await drain('one')
  t.equal(sent.length, 2, 'it rests')
  time.now += 30_000
  await drain('one')
  t.strictSame(
    sent
      .slice(2)
      .map(({ event }) => event)
      .sort(),
    ['a.1', 'c.1'],
  )
})
