/** Which deliveries follow from the log, whoever dies meanwhile. */
import t, { type Test } from 'tap'
import { composeCatalogue, composeRender } from '../../src/compose/catalogue.ts'
import { newId } from '../../src/compose/new-id.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createLogger } from '../../src/logging.ts'
import { webhookAggregate } from '../../src/webhooks/aggregate.ts'
import type { WebhookCommand } from '../../src/webhooks/decider.ts'
import type { WebhookTerms } from '../../src/webhooks/events.ts'
import { fanOut } from '../../src/webhooks/fan-out.ts'
import { withAudit } from '../support/audit.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const TERMS: WebhookTerms = {
  url: 'https://example.com/hook',
  description: null,
  types: null,
  walletIds: null,
  payload: 'full',
}

async function withFanOut(t: Test) {
  const stage = await withAudit(t)
  const { pool, log, url } = stage
  const wakeUps = createWakeUps(pool, url)
  t.after(() => wakeUps.close())
  const logger = createLogger({ level: 'error', processName: 'test' })
  const render = composeRender(await composeCatalogue(), { pool, logger })
  const reads = { events: 0 }
  const changed = new Map<string, WebhookTerms>()
  const ports: Parameters<typeof fanOut>[0] = {
    pool,
    wakeUps,
    render,
    newId,
    clock: Date.now,
    tell: () => undefined,
    onRead() {
      reads.events += 1
    },
  }
  const execute = async (id: string, command: WebhookCommand, tenantId = 'acme') => {
    await log.execute(webhookAggregate, id, command, { metadata: { tenantId, actor: 'test' } })
    wakeUps.announce(['WebhookCreated'])
  }
  return {
    ...stage,
    reads,
    run: (signal: AbortSignal) => fanOut(ports, signal),
    execute,
    async create(id: string, terms: Partial<WebhookTerms> = {}, tenantId = 'acme') {
      const secret = { secretId: `whs_${id}`, publicKey: null, signatures: ['v1'] as const }
      changed.set(id, { ...TERMS, ...terms })
      const webhook = { ...TERMS, ...terms, ...secret, environment: 'mainnet' as const, createdAt: NOW }
      await execute(id, { type: 'CreateWebhook', webhook }, tenantId)
    },
    change: (id: string, terms: Partial<WebhookTerms>) => {
      const chosen = { ...(changed.get(id) ?? TERMS), ...terms }
      changed.set(id, chosen)
      return execute(id, { type: 'ChangeWebhook', terms: chosen, now: NOW })
    },
    async eventsOf(webhookId: string): Promise<string[]> {
      const { rows } = await pool.query<{ event_id: string }>(
        'SELECT event_id FROM webhook_deliveries AS d WHERE webhook_id = $1 ORDER BY d.transaction_id, position, part',
        [webhookId],
      )
      return rows.map((row) => row.event_id)
    },
  }
}

const told = (ids: readonly string[]) => ids.flatMap((id) => [`evt_transaction-${id}.1`, `evt_transaction-${id}.3`])

t.test('each event is added once for each webhook that wants it, whichever process stops when', async (t) => {
  const { transfers, run, create, execute, eventsOf, pool } = await withFanOut(t)
  await transfers(2)
  await create('all')
  await create('requests', { types: ['transaction.requested'] })
  await create('wallet', { walletIds: ['wal_1'] })
  await create('other_wallet', { walletIds: ['wal_2'] })
  await create('other_tenant', {}, 'globex')
  await create('disabled', { types: ['transaction.cancelled'] })
  await execute('disabled', { type: 'DisableWebhook', reason: 'requested', now: NOW })
  await create('deleted')
  await execute('deleted', { type: 'DeleteWebhook', now: NOW })
  const appending = Promise.all([transfers(40), transfers(40), transfers(10, 'globex')])
  // Two at once, as after a lease that was lost, each stopped again and again.
  const stopped = { yes: false }
  const keepRunning = async (ms: number) => {
    while (!stopped.yes) await run(AbortSignal.timeout(ms))
  }
  const running = [keepRunning(30), keepRunning(70)]
  const [first, second, others] = await appending
  await create('late')
  const last = await transfers(5)
  await eventually(async () => (await eventsOf('late')).length >= 10 || undefined)
  stopped.yes = true
  await Promise.all(running)

  const expected = new Set(told([...first, ...second, ...last]))
  const all = await eventsOf('all')
  const ofTransactions = all.filter((id) => id.startsWith('evt_transaction-'))
  t.equal(ofTransactions.length, expected.size, 'none twice')
  t.strictSame(new Set(ofTransactions), expected, 'none missing')
  const { rows } = await pool.query<{ id: string }>(
    `SELECT 'evt_' || stream_id || '.' || stream_version AS id FROM events ORDER BY events.transaction_id, position`,
  )
  const inLog = rows.map(({ id }) => id)
  t.strictSame(
    ofTransactions,
    inLog.filter((id) => expected.has(id)),
    'in the order of the log',
  )
  const requested = [...expected].filter((id) => id.endsWith('.1'))
  t.strictSame(new Set(await eventsOf('requests')), new Set(requested))
  t.strictSame(new Set(await eventsOf('wallet')), expected)
  t.strictSame(await eventsOf('other_wallet'), [])
  t.strictSame(new Set(await eventsOf('other_tenant')), new Set(told(others)))
  t.equal((await eventsOf('disabled')).length, expected.size / 2, 'what a disabled one misses waits')
  t.strictSame(await eventsOf('deleted'), [])
  t.strictSame(new Set(await eventsOf('late')), new Set(told(last)), 'a new one gets what comes after it')
})

t.test('without a webhook the log is not read, and a first one starts where it was created', async (t) => {
  const { transfers, run, create, execute, eventsOf, reads, pool } = await withFanOut(t)
  await transfers(50)
  const stop = new AbortController()
  const running = run(stop.signal)
  await transfers(5)
  await create('first')
  const ids = await transfers(1)
  await eventually(async () => (await eventsOf('first')).length === 2 || undefined)
  t.strictSame(await eventsOf('first'), told(ids))
  const before = reads.events
  await execute('first', { type: 'DeleteWebhook', now: NOW })
  await eventually(async () => reads.events > before || undefined)
  const afterwards = reads.events
  await transfers(20)
  await create('second')
  await transfers(1)
  await eventually(async () => (await eventsOf('second')).length === 2 || undefined)
  stop.abort()
  await running
  t.ok(reads.events - afterwards <= 3, 'nothing was read while there was none')
  const { rows } = await pool.query("SELECT count(*)::integer AS n FROM checkpoints WHERE name = 'webhooks'")
  t.equal(rows[0].n, 1)
})

t.test('an event is judged by the terms at its place in the log, whatever is changed before it is read', async (t) => {
  const { transfers, run, create, execute, change, eventsOf, pool } = await withFanOut(t)
  await create('narrowed')
  await create('widened', { walletIds: ['wal_2'] })
  await create('by_type', { types: ['transaction.requested'], payload: 'thin' })
  await create('switched', { types: ['transaction.requested'] })
  const early = await transfers(2)
  await change('narrowed', { types: ['transaction.requested'], walletIds: ['wal_1'] })
  await change('widened', { walletIds: null, types: ['transaction.cancelled'] })
  await change('by_type', { types: ['transaction.cancelled'], payload: 'full' })
  await execute('switched', { type: 'DisableWebhook', reason: 'requested', now: NOW })
  const middle = await transfers(2)
  await change('narrowed', { types: ['wallet.created'] })
  await change('by_type', { types: null })
  await execute('switched', { type: 'EnableWebhook', now: NOW })
  const late = await transfers(2)
  await create('last', { types: ['transaction.cancelled'] })
  const stop = new AbortController()
  const running = run(stop.signal)
  const [end = ''] = await transfers(1)
  await eventually(async () => (await eventsOf('last')).length > 0 || undefined)
  stop.abort()
  await running

  const ofTransfers = async (id: string) =>
    (await eventsOf(id)).filter((event) => event.startsWith('evt_transaction-')).toSorted()
  const requested = (ids: readonly string[]) => ids.map((id) => `evt_transaction-${id}.1`)
  const cancelled = (ids: readonly string[]) => ids.map((id) => `evt_transaction-${id}.3`)
  t.strictSame(await ofTransfers('narrowed'), [...told(early), ...requested(middle)].toSorted())
  t.strictSame(await ofTransfers('widened'), cancelled([...middle, ...late, end]).toSorted())
  t.strictSame(
    await ofTransfers('by_type'),
    [...requested(early), ...cancelled(middle), ...told([...late, end])].toSorted(),
  )
  t.strictSame(await ofTransfers('switched'), requested([...early, ...middle, ...late, end]).toSorted())
  t.ok((await eventsOf('narrowed')).includes('evt_webhook-narrowed.2'), 'a change is judged by the terms before it')
  t.notOk((await eventsOf('narrowed')).includes('evt_webhook-narrowed.3'))
  const { rows } = await pool.query(
    `SELECT payload, count(*)::integer AS n FROM webhook_deliveries
      WHERE webhook_id = 'by_type' AND event_id LIKE 'evt_transaction-%' GROUP BY payload ORDER BY payload`,
  )
  t.strictSame(
    rows,
    [
      { payload: 'full', n: 2 + 2 * 3 },
      { payload: 'thin', n: 2 },
    ],
    'and is sent as they say',
  )
})

t.test('a change that is read in parts, by processes that stop, counts from its place on', async (t) => {
  const { transfers, run, create, change, eventsOf } = await withFanOut(t)
  await create('toggled')
  const stopped = { yes: false }
  const keepRunning = async (ms: number) => {
    while (!stopped.yes) await run(AbortSignal.timeout(ms))
  }
  const running = [keepRunning(20), keepRunning(50)]
  const expected: string[] = []
  for (let round = 0; round < 20; round += 1) {
    expected.push(...told(await transfers(1)))
    await change('toggled', { types: ['transaction.cancelled'] })
    expected.push(...told(await transfers(1)).filter((id) => id.endsWith('.3')))
    await change('toggled', { types: null })
  }
  const [end = ''] = await transfers(1)
  await eventually(async () => (await eventsOf('toggled')).includes(`evt_transaction-${end}.3`) || undefined)
  stopped.yes = true
  await Promise.all(running)
  t.strictSame(
    (await eventsOf('toggled')).filter((id) => id.startsWith('evt_transaction-')).toSorted(),
    [...expected, ...told([end])].toSorted(),
  )
})
