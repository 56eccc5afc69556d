/** What is sent to webhooks, in which order, and what a failing receiver costs. */
import t from 'tap'
import { recordAttempts } from '../../src/webhooks/deliveries.ts'
import { nextDeliveries } from '../../src/webhooks/next-deliveries.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-schedule.ts'
import { MOST_REFUSED } from '../../src/webhooks/sql.ts'
import { enqueue, LOST, posted, START, withDrain } from '../support/webhook-drain-stage.ts'

const DAY = 86_400_000

t.test('the events of a resource arrive in their order, and those of others do not wait for them', async (t) => {
  let isBroken = true
  const { pool, time, sent, drain } = await withDrain(t, ({ event }) =>
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
    const { pool, time, sent, disabled, drain } = await withDrain(t, ({ webhook }) =>
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
  const { pool, disabled, drain } = await withDrain(t, () => 'gone')
  await enqueue(pool, 'one', ['a.1'])
  await drain('one')
  t.strictSame(disabled, ['one gone'])
  const { rows } = await pool.query('SELECT state, attempts FROM webhook_deliveries')
  t.strictSame(rows, [{ state: 'pending', attempts: 1 }])
})

t.test(
  'each delivery is sent with the payload of its place in the log, and one of an earlier version as the webhook says now',
  async (t) => {
    const { pool, sent, drain } = await withDrain(t, () => 'delivered')
    await enqueue(pool, 'one', ['a.1', 'b.1', 'c.1'])
    await pool.query(
      `UPDATE webhook_deliveries SET payload = CASE event_id WHEN 'a.1' THEN 'full' WHEN 'b.1' THEN 'thin' END`,
    )
    await pool.query(
      `INSERT INTO webhooks (webhook_id, tenant_id, environment, url, payload, signatures, secrets, status, created_at, updated_at, version)
     VALUES ('one', 'acme', 'mainnet', 'https://one.example', 'thin', '["v1"]', '[]', 'enabled', now(), now(), 1)`,
    )
    await drain('one')
    t.strictSame(sent.map(({ event, payload }) => `${event} ${payload}`).sort(), ['a.1 full', 'b.1 thin', 'c.1 thin'])
  },
)

t.test(
  'a delivery keeps its payload when it is attempted again, as a probe, during a pause or because its owner asked',
  async (t) => {
    let isUp = false
    const { pool, time, sent, drain } = await withDrain(t, () => (isUp ? 'delivered' : 'failed'))
    const payloads = () => sent.splice(0).map(({ event, payload }) => `${event} ${payload}`)
    await enqueue(pool, 'one', ['a.1', 'b.1'])
    await pool.query(`UPDATE webhook_deliveries SET payload = CASE event_id WHEN 'a.1' THEN 'thin' ELSE 'full' END`)
    await drain('one')
    t.strictSame(payloads().sort(), ['a.1 thin', 'b.1 full'])
    time.now += DAY
    await drain('one')
    t.strictSame(payloads(), ['a.1 thin'], 'the probe')
    time.now += DAY
    isUp = true
    await drain('one')
    t.strictSame(payloads(), ['b.1 full', 'a.1 thin'], 'the next probe, and what waited')
    await enqueue(pool, 'one', ['c.1.wallet.created'])
    await pool.query(`UPDATE webhook_deliveries SET payload = 'thin' WHERE event_id = 'c.1.wallet.created'`)
    await pool.query(`UPDATE webhook_deliveries SET state = 'pending', is_asked = true WHERE event_id = 'b.1'`)
    await pool.query('UPDATE webhook_health SET paused_until = $1, refused = $2', [
      new Date(time.now + DAY),
      MOST_REFUSED,
    ])
    await drain('one')
    t.strictSame(
      payloads().sort(),
      ['b.1 full', 'c.1.wallet.created thin'],
      'what was asked for, and a type that was not refused',
    )
  },
)

t.test('a sender that dies before it records a response sends the same event again', async (t) => {
  const { pool, sent, ctx, drain } = await withDrain(t, () => 'delivered')
  await enqueue(pool, 'one', ['a.1', 'a.2'])
  const line = { webhookId: 'one', isReplay: false }
  const [first] = (await nextDeliveries(ctx, { line, rest: 'all', isAsked: false, isWaiting: false })).deliveries
  t.equal(first?.event_id, 'a.1')
  // It was sent, and nothing was recorded.
  await drain('one')
  t.strictSame(
    sent.map(({ event }) => event),
    ['a.1', 'a.2'],
  )
  if (first) await recordAttempts(ctx, line, [{ delivery: first, posted: posted('failed'), isRefused: false }])
  const { rows } = await pool.query(`SELECT state FROM webhook_deliveries WHERE event_id = 'a.1'`)
  t.strictSame(rows, [{ state: 'delivered' }], 'a late record does not undo a delivery')
})

t.test(
  'an event that the log does not contain is given up with a reason, and holds up no other resource',
  async (t) => {
    const { pool, time, sent, disabled, drain } = await withDrain(t, () => 'delivered')
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
  const { pool, time, sent, drain } = await withDrain(t, ({ event }) => (event === 'a.1' ? 'failed' : 'delivered'))
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

t.test('the newest hundred attempts of a delivery are kept, however often its owner has it attempted', async (t) => {
  const { pool, sent, drain } = await withDrain(t, () => ({ status: 400 }))
  await enqueue(pool, 'one', ['a.1'])
  await pool.query(
    `UPDATE webhook_deliveries SET attempts = 100, is_asked = true,
            attempt_list = (SELECT jsonb_agg(jsonb_build_object('attempt', n) ORDER BY n) FROM generate_series(1, 100) AS n)`,
  )
  await drain('one')
  t.equal(sent.length, 1)
  const { rows } = await pool.query(
    `SELECT jsonb_array_length(attempt_list) AS kept, attempt_list -> 0 ->> 'attempt' AS first, attempt_list -> -1 ->> 'attempt' AS last
       FROM webhook_deliveries`,
  )
  t.strictSame(rows, [{ kept: 100, first: '2', last: '101' }])
})
