/** Which deliveries follow from the log, whoever dies meanwhile. */
import t, { type Test } from 'tap'
import { composeCatalogue, composeRender } from '../../src/compose/catalogue.ts'
import { newId } from '../../src/compose/new-id.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createLogger } from '../../src/logging.ts'
import { webhookAggregate } from '../../src/webhooks/aggregate.ts'
import type { WebhookCommand } from '../../src/webhooks/decider.ts'
import type { WebhookTerms } from '../../src/webhooks/events.ts'
import { type FanOutPorts, fanOut } from '../../src/webhooks/fan-out.ts'
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
  const ports: FanOutPorts = {
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
      const webhook = { ...TERMS, ...terms, ...secret, environment: 'mainnet' as const, createdAt: NOW }
      await execute(id, { type: 'CreateWebhook', webhook }, tenantId)
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
