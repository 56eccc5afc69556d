/** That a delivery was given up is an event: once, whoever dies, and never about itself. */
import type { Pool, QueryConfig } from 'pg'
import t, { type Test } from 'tap'
import { composeCatalogue, composeRender } from '../../src/compose/catalogue.ts'
import { newId } from '../../src/compose/new-id.ts'
import { createLeases } from '../../src/event-log/leases.ts'
import { readWholeLog } from '../../src/event-log/read-logged.ts'
import { LOG_START } from '../../src/event-log/subscription.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createLogger } from '../../src/logging.ts'
import { webhookAggregate } from '../../src/webhooks/aggregate.ts'
import { recordAttempts } from '../../src/webhooks/deliveries.ts'
import { type DrainContext, drainWebhook } from '../../src/webhooks/drain-webhook.ts'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { nextDeliveries } from '../../src/webhooks/next-deliveries.ts'
import type { Posted } from '../../src/webhooks/post.ts'
import { retryDelivery } from '../../src/webhooks/read-deliveries.ts'
import { readReceiver } from '../../src/webhooks/receiver-of.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-schedule.ts'
import { createRunningDrains } from '../../src/webhooks/running-drains.ts'
import { tellGivenUp } from '../../src/webhooks/tell-given-up.ts'
import { withAudit } from '../support/audit.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const DAY = 86_400_000
const NEVER = new AbortController().signal
const FAILED: Posted = {
  outcome: 'failed',
  status: 500,
  error: null,
  response: 'no',
  durationMs: 1,
  retryAfterMs: null,
}

async function withSending(t: Test) {
  const stage = await withAudit(t)
  const { pool, log, url } = stage
  const logger = createLogger({ level: 'error', processName: 'test' })
  const render = composeRender(await composeCatalogue(), { pool, logger })
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const ctx = { pool, clock: Date.now, random: () => 0.5 }
  /** The public events about deliveries, in the order of the log. */
  const told = async () => {
    const { events } = await readWholeLog(pool, LOG_START, 1_000)
    return (await render(events))
      .flat()
      .flatMap(({ event }) => (event.type === 'webhook.delivery_failed' ? [event] : []))
  }
  const rowsOf = async (webhookId: string) => {
    const { rows } = await pool.query<{ delivery_id: string; type: string; event_id: string; state: string }>(
      'SELECT delivery_id, type, event_id, state FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY delivery_id',
      [webhookId],
    )
    return rows
  }
  return {
    ...stage,
    told,
    rowsOf,
    tell: () => tellGivenUp({ pool, log }, NEVER),
    async create(id: string, types: readonly string[] | null) {
      const terms = { url: 'https://example.com/', description: null, types, walletIds: null, payload: 'full' as const }
      const secret = { secretId: `whs_${id}`, publicKey: null, signatures: ['v1'] as const }
      const webhook = { ...terms, ...secret, environment: 'mainnet' as const, createdAt: NOW }
      await log.execute(
        webhookAggregate,
        id,
        { type: 'CreateWebhook', webhook },
        { metadata: { tenantId: 'acme', actor: 'test' } },
      )
    },
    /** Decides who gets what, until the webhook has so many deliveries. */
    async fanOutUntil(webhookId: string, count: number) {
      const stop = new AbortController()
      const ports = { pool, wakeUps, render, newId, clock: Date.now, tell: () => undefined, onRead: () => undefined }
      const running = fanOut(ports, stop.signal)
      await eventually(async () => (await rowsOf(webhookId)).length >= count || undefined)
      stop.abort()
      await running
    },
    /** The last attempt of everything that waits for the webhook fails. */
    async giveUp(webhookId: string) {
      await pool.query(
        `UPDATE webhook_deliveries SET attempts = greatest(attempts, $2) WHERE webhook_id = $1 AND state = 'pending'`,
        [webhookId, MAX_ATTEMPTS - 1],
      )
      await pool.query(`UPDATE webhook_deliveries SET due_at = now() - interval '1 hour' WHERE webhook_id = $1`, [
        webhookId,
      ])
      const line = { webhookId, isReplay: false }
      const next = () => nextDeliveries(ctx, { line, rest: 'all', isAsked: true, isWaiting: true })
      // The later events of a resource wait until the one before them is given up.
      for (let due = await next(); due.deliveries.length > 0; due = await next())
        await recordAttempts(
          ctx,
          line,
          due.deliveries.map((delivery) => ({ delivery, posted: FAILED, isRefused: false })),
        )
    },
  }
}

/** Sends what is due by the clock of the test, to a receiver that refuses everything. */
function drainerOf(pool: Pool, clock: () => number) {
  const ctx: DrainContext = {
    leases: createLeases({ pool, holder: 'sender@test:1', leaseMs: 10_000 }),
    running: createRunningDrains(),
    pool,
    random: () => 0.5,
    receiverOf: (webhookId) => readReceiver({ pool }, webhookId),
    keysOf: async () => ({ secrets: [Buffer.alloc(24)], ed25519: [] }),
    bodiesOf: async (ids) => new Map(ids.map((id) => [id, () => '{}'])),
    post: async () => ({ ...FAILED, status: 400 }),
    disable: async () => undefined,
    clock,
    onAttempts: () => undefined,
  }
  const place = { during: <T>(work: () => Promise<T>) => work(), isWanted: () => false }
  return (webhookId: string) => drainWebhook(ctx, webhookId, place, NEVER)
}

t.test('each delivery that is given up is told once, and once more after a retry that fails', async (t) => {
  const { create, transfers, fanOutUntil, giveUp, rowsOf, told, tell, pool } = await withSending(t)
  await create('w', ['transaction.requested'])
  const ids = await transfers(40)
  await fanOutUntil('w', 40)
  await tell()
  t.strictSame(await told(), [], 'nothing was given up yet')
  await giveUp('w')
  // Two at once, as after a lease that was lost, and then another.
  await Promise.all([tell(), tell()])
  await tell()
  const events = await told()
  t.equal(events.length, 40)
  t.strictSame(
    events.map(({ data }) => (data as { event_id: string }).event_id).sort(),
    ids.map((id) => `evt_transaction-${id}.1`).sort(),
  )
  const [first] = await rowsOf('w')
  t.match(
    events.find(({ resource }) => resource.id === first?.delivery_id),
    {
      environment: 'mainnet',
      resource: { type: 'webhook_delivery', version: 1 },
      data: {
        webhook_id: 'w',
        event_id: first?.event_id,
        type: 'transaction.requested',
        replay_id: null,
        attempts: MAX_ATTEMPTS,
        last_attempt: { status: 500, error: null },
      },
    },
  )
  await retryDelivery({ pool }, 'w', first?.delivery_id ?? '', new Date())
  await tell()
  t.equal((await told()).length, 40, 'a retry is no failure')
  await giveUp('w')
  await tell()
  const again = (await told()).filter(({ resource }) => resource.id === first?.delivery_id)
  t.strictSame(
    again.map(({ resource, data }) => [resource.version, (data as { attempts: number }).attempts]),
    [
      [1, MAX_ATTEMPTS],
      [2, MAX_ATTEMPTS + 1],
    ],
  )
})

t.test(
  'a refused delivery is told once after its last attempt, and once more after a retry by name during a pause',
  async (t) => {
    const { create, transfers, fanOutUntil, rowsOf, told, tell, pool } = await withSending(t)
    await create('w', ['transaction.requested'])
    await transfers(1)
    await fanOutUntil('w', 1)
    const time = { now: Date.now() }
    const drain = drainerOf(pool, () => time.now)
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      t.strictSame(await told(), [], 'others may be attempted')
      await drain('w')
      await tell()
      time.now += DAY
    }
    const attemptsOf = async () => (await told()).map(({ data }) => (data as { attempts: number }).attempts)
    t.strictSame(await attemptsOf(), [MAX_ATTEMPTS])
    await pool.query('UPDATE webhook_health SET paused_until = $1', [new Date(time.now + DAY)])
    const [row] = await rowsOf('w')
    await retryDelivery({ pool }, 'w', row?.delivery_id ?? '', new Date(time.now))
    await tell()
    t.strictSame(await attemptsOf(), [MAX_ATTEMPTS], 'a retry is no failure')
    await drain('w')
    await tell()
    await tell()
    t.strictSame(await attemptsOf(), [MAX_ATTEMPTS, MAX_ATTEMPTS + 1])
    t.match((await told()).at(-1)?.data, { last_attempt: { status: 400 } })
  },
)

t.test('a sender that dies between the event and its row tells of it no second time', async (t) => {
  const { create, transfers, fanOutUntil, giveUp, told, tell, pool, log } = await withSending(t)
  await create('w', ['transaction.requested'])
  await transfers(3)
  await fanOutUntil('w', 3)
  await giveUp('w')
  const dying = Object.create(pool) as typeof pool
  dying.query = ((statement: QueryConfig) => {
    if (statement.name === 'mark_told_deliveries') throw new Error('killed')
    return pool.query(statement)
  }) as typeof pool.query
  await t.rejects(tellGivenUp({ pool: dying, log }, NEVER), { message: 'killed' })
  t.equal((await told()).length, 3)
  await tell()
  t.equal((await told()).length, 3)
  const { rows } = await pool.query('SELECT DISTINCT told_attempts FROM webhook_deliveries')
  t.strictSame(rows, [{ told_attempts: MAX_ATTEMPTS }], 'and is not looked at again')
})

t.test('the event reaches all webhooks that want it, and giving that up in turn tells nothing', async (t) => {
  const { create, transfers, fanOutUntil, giveUp, rowsOf, told, tell } = await withSending(t)
  await create('broken', null)
  await create('watcher', ['webhook.delivery_failed'])
  await transfers(1)
  await fanOutUntil('broken', 3)
  await giveUp('broken')
  await tell()
  const given = (await told()).length
  t.equal(given, 3, 'two of the transfer, and the creation of the other webhook')
  await fanOutUntil('watcher', given)
  t.strictSame([...new Set((await rowsOf('watcher')).map(({ type }) => type))], ['webhook.delivery_failed'])
  t.equal((await rowsOf('broken')).length, 3 + given)
  await giveUp('broken')
  await giveUp('watcher')
  await tell()
  t.equal((await told()).length, given)
  t.ok([...(await rowsOf('broken')), ...(await rowsOf('watcher'))].every(({ state }) => state === 'failed'))
})

t.test('a delivery that cannot be told of holds up no other', async (t) => {
  const { create, told, tell, pool } = await withSending(t)
  await create('w', null)
  await pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, state, attempts, attempt_list, due_at, created_at)
     SELECT 'dlv_' || n, 'w', 'acme', 'evt_a.1', 'transaction.mined', 'a', '5', n, 0, 'failed', 10, CASE WHEN n <= 40 THEN '["no attempt"]' ELSE '[]' END::jsonb, now(), now()
       FROM generate_series(1, 50) AS n`,
  )
  await t.rejects(tell())
  t.equal((await told()).length, 10)
  await t.rejects(tell(), 'it is tried again')
  t.equal((await told()).length, 10)
})
