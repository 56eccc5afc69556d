/** Replays: events of any age again, each once, in order, whichever process dies, and what was given up. */
import t, { type Test } from 'tap'
import { composeCatalogue, composeRender } from '../../src/compose/catalogue.ts'
import { newId } from '../../src/compose/new-id.ts'
import { earliestIdAt } from '../../src/core/ids.ts'
import { createWakeUps } from '../../src/event-log/wake-ups.ts'
import { createLogger } from '../../src/logging.ts'
import { webhookAggregate } from '../../src/webhooks/aggregate.ts'
import type { WebhookCommand } from '../../src/webhooks/decider.ts'
import type { Replay, WebhookTerms } from '../../src/webhooks/events.ts'
import { fanOut, type LeaderContext } from '../../src/webhooks/fan-out.ts'
import { removeOld } from '../../src/webhooks/retention.ts'
import { runReplays } from '../../src/webhooks/run-replays.ts'
import { withAudit } from '../support/audit.ts'
import { loginAs } from '../support/database-login.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const NEVER = new AbortController().signal
const DAY = 86_400_000
const ALL: Omit<Replay, 'replayId'> = { after: null, from: null, to: null, types: null, onlyFailed: false }

async function withReplays(t: Test) {
  const stage = await withAudit(t)
  const { pool, log, url } = stage
  const logger = createLogger({ level: 'error', processName: 'test' })
  const render = composeRender(await composeCatalogue(), { pool, logger })
  const ports: LeaderContext = { pool, render, newId, clock: Date.now, tell: () => undefined }
  const execute = async (id: string, command: WebhookCommand) => {
    await log.execute(webhookAggregate, id, command, { metadata: { tenantId: 'acme', actor: 'test' } })
  }
  return {
    ...stage,
    ports,
    execute,
    async create(id: string, terms: Partial<WebhookTerms> = {}) {
      const base = {
        url: 'https://example.com/',
        description: null,
        types: null,
        walletIds: null,
        payload: 'full' as const,
      }
      const secret = { secretId: `whs_${id}`, publicKey: null, signatures: ['v1'] as const }
      const webhook = { ...base, ...terms, ...secret, environment: 'mainnet' as const, createdAt: log.now() }
      await execute(id, { type: 'CreateWebhook', webhook })
    },
    async request(webhookId: string, replayId: string, range: Partial<Replay> = {}, requestedAt = log.now()) {
      await execute(webhookId, { type: 'RequestReplay', replay: { ...ALL, ...range, replayId, requestedAt } })
    },
    async eventsOf(replayId: string): Promise<string[]> {
      const { rows } = await pool.query<{ event_id: string }>(
        'SELECT event_id FROM webhook_deliveries AS d WHERE replay_id = $1 ORDER BY d.transaction_id, position, part',
        [replayId],
      )
      return rows.map((row) => row.event_id)
    },
    async progressOf(replayId: string) {
      const { rows } = await pool.query<{ added: string; ended: boolean }>(
        'SELECT added, ended_at IS NOT NULL AS ended FROM webhook_replay_progress WHERE replay_id = $1',
        [replayId],
      )
      return rows[0]
    },
    async send() {
      const wakeUps = createWakeUps(pool, url)
      t.after(() => wakeUps.close())
      return (signal: AbortSignal) => fanOut({ ...ports, wakeUps, onRead: () => undefined }, signal)
    },
  }
}

const told = (ids: readonly string[]) => ids.flatMap((id) => [`evt_transaction-${id}.1`, `evt_transaction-${id}.3`])

t.test('a replay adds each event of its range once, older ones than the webhook too', async (t) => {
  const { transfers, ports, create, request, eventsOf, progressOf, pool } = await withReplays(t)
  const ids = await transfers(300)
  await transfers(3, 'globex')
  await create('w', { types: ['transaction.requested', 'transaction.cancelled'] })
  await request('w', 'rpl_all')
  await request('w', 'rpl_after', { after: `evt_transaction-${ids[297]}.1` })
  await request('w', 'rpl_types', { types: ['transaction.cancelled'] })
  await request('w', 'rpl_old', { to: '2020-01-01T00:00:00.000Z' })
  await request('w', 'rpl_expired', {}, '2026-01-01T00:00:00.000Z')
  await transfers(2)
  // Two at once, as after a lease that was lost, and a process that dies after each part.
  let parts = 0
  const dying = {
    ...ports,
    tell: () => {
      parts += 1
      if (parts % 2 === 0) throw new Error('killed')
    },
  }
  const runs = Array.from({ length: 8 }, () => runReplays(dying, NEVER).catch(() => undefined))
  await Promise.all(runs)
  await runReplays(ports, NEVER)
  t.strictSame(await eventsOf('rpl_all'), told(ids))
  t.strictSame(await progressOf('rpl_all'), { added: '600', ended: true })
  t.strictSame(await eventsOf('rpl_after'), told(ids.slice(297)).slice(1))
  t.strictSame(
    await eventsOf('rpl_types'),
    ids.map((id) => `evt_transaction-${id}.3`),
  )
  t.strictSame(await progressOf('rpl_old'), { added: '0', ended: true })
  t.equal(await progressOf('rpl_expired'), undefined, 'of another installation, or not begun for a week')
  const { rows } = await pool.query(`SELECT count(*)::integer AS n FROM webhook_deliveries WHERE tenant_id <> 'acme'`)
  t.strictSame(rows, [{ n: 0 }])
})

t.test('a replay sends what its webhook got when it was requested, whatever is changed while it runs', async (t) => {
  const { transfers, ports, create, request, execute, eventsOf, pool } = await withReplays(t)
  const ids = await transfers(2)
  await create('w', { types: ['transaction.requested'], payload: 'thin' })
  await request('w', 'rpl_all')
  const terms = { url: 'https://example.com/', description: null, walletIds: ['wal_2'] }
  const changed = { ...terms, types: ['transaction.cancelled'], payload: 'full' as const }
  await execute('w', { type: 'ChangeWebhook', terms: changed, now: '2026-01-01T00:00:00.000Z' })
  await transfers(1)
  await runReplays(ports, NEVER)
  t.strictSame(
    await eventsOf('rpl_all'),
    ids.map((id) => `evt_transaction-${id}.1`),
  )
  const { rows } = await pool.query('SELECT DISTINCT payload FROM webhook_deliveries')
  t.strictSame(rows, [{ payload: 'thin' }])
})

t.test('a replay by time reads past other events at once, and misses none that is out of order', async (t) => {
  const { transfers, ports, create, request, eventsOf, progressOf, pool } = await withReplays(t)
  await create('w', { types: ['transaction.requested', 'transaction.cancelled'] })
  const first = await transfers(1)
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash, environment)
     SELECT 'wallet-w' || n, 1, 'WalletCreated', 1, '{}', '{"tenantId": "acme"}', '2020-06-01', '\\x00', 'mainnet' FROM generate_series(1, 12000) AS n`,
  )
  const second = await transfers(1)
  await request('w', 'rpl_from', { from: '2021-01-01T00:00:00.000Z' })
  let parts = 0
  const tell = () => {
    parts += 1
  }
  const counting = { ...ports, tell }
  await runReplays(counting, NEVER)
  t.strictSame(await eventsOf('rpl_from'), told([...first, ...second]))
  t.equal(parts, 2)
  await request('w', 'rpl_to', { to: '2020-01-01T00:00:00.000Z' })
  await runReplays(counting, NEVER)
  t.strictSame(await progressOf('rpl_to'), { added: '0', ended: true })
  t.equal(parts, 4)
})

t.test('a replay waits while its webhook is disabled, and one that fails does not stop others', async (t) => {
  const { transfers, ports, create, execute, request, progressOf, log } = await withReplays(t)
  await transfers(1)
  await create('w')
  await request('w', 'rpl_a')
  await request('w', 'rpl_b')
  await execute('w', { type: 'DisableWebhook', reason: 'requested', now: log.now() })
  await runReplays(ports, NEVER)
  t.strictSame(await progressOf('rpl_a'), { added: '0', ended: false })
  await execute('w', { type: 'EnableWebhook', now: log.now() })
  let calls = 0
  const failing: LeaderContext = {
    ...ports,
    async render(...input) {
      calls += 1
      if (calls === 1) throw new Error('cannot be rendered')
      return ports.render(...input)
    },
  }
  await t.rejects(runReplays(failing, NEVER), /cannot be rendered/)
  matchExactly(t, [await progressOf('rpl_a'), await progressOf('rpl_b')], [{ ended: false }, { ended: true }])
  await runReplays(ports, NEVER)
  t.match(await progressOf('rpl_a'), { ended: true })
})

t.test('a replay that nobody can read, appended with the database login of the API, stops no other', async (t) => {
  const { pool, url, ports, create, request, progressOf } = await withReplays(t)
  await create('bad')
  await create('w')
  const api = await loginAs(t, { pool, url }, 'api')
  const { rows } = await pool.query(`SELECT encode(hash, 'hex') AS hash FROM events WHERE stream_id = 'webhook-bad'`)
  const second = { streamVersion: 2, previous: rows[0]?.hash as string, type: 'WebhookReplayRequested' }
  const row = { replay_id: 'rpl_0', webhook_id: 'bad', tenant_id: 'acme', environment: 'mainnet', types: 5 }
  const rest = { only_failed: false, requested_at: new Date().toISOString(), version: 2 }
  await appendRaw(api, [rawEvent({ streamId: 'webhook-bad', ...second })], { webhook_replays: [{ ...row, ...rest }] })
  await request('w', 'rpl_1')
  await runReplays(ports, NEVER)
  t.match(await progressOf('rpl_1'), { ended: true })
})

t.test('a replay waits while its receiver is behind, however long that takes', async (t) => {
  const { transfers, ports, create, request, progressOf, pool } = await withReplays(t)
  await transfers(2)
  await create('w')
  await pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
     SELECT 'dlv_' || n, 'w', 'acme', 'evt_a-' || n || '.1', 'x', 'a-' || n, '5'::xid8, n, 0, now(), now() FROM generate_series(1, 10000) AS n`,
  )
  await request('w', 'rpl_1')
  await runReplays(ports, NEVER)
  t.strictSame(await progressOf('rpl_1'), { added: '0', ended: false })
  await pool.query(`UPDATE webhook_deliveries SET state = 'delivered' WHERE delivery_id = 'dlv_1'`)
  await runReplays({ ...ports, clock: () => Date.now() + 30 * 86_400_000 }, NEVER)
  t.match(await progressOf('rpl_1'), { ended: true })
})

t.test('a replay of what failed queues it again, and it is a gap no longer', async (t) => {
  const { transfers, ports, create, request, progressOf, send, pool } = await withReplays(t)
  await create('w')
  const [first = '', second = ''] = await transfers(2)
  const run = await send()
  const stop = new AbortController()
  const running = run(stop.signal)
  const count = async (where: string) =>
    (await pool.query(`SELECT FROM webhook_deliveries WHERE ${where}`)).rowCount ?? 0
  await eventually(async () => (await count(`event_id LIKE 'evt_transaction-%'`)) === 4 || undefined)
  stop.abort()
  await running
  await pool.query(
    `UPDATE webhook_deliveries SET state = 'failed', attempts = 10, ended_at = now() - interval '1 minute'`,
  )
  await pool.query(`INSERT INTO webhook_health (webhook_id, gaps) VALUES ('w', 4)`)
  await request('w', 'rpl_1', {
    onlyFailed: true,
    after: `evt_transaction-${first}.3`,
    types: ['transaction.requested'],
  })
  await runReplays(ports, NEVER)
  t.strictSame(await progressOf('rpl_1'), { added: '1', ended: true })
  t.equal(await count(`state = 'pending' AND event_id = 'evt_transaction-${second}.1'`), 1)
  t.equal(await count(`state = 'failed'`), 3)
  const { rows } = await pool.query(`SELECT gaps FROM webhook_health`)
  t.strictSame(rows, [{ gaps: '3' }])
})

t.test('a test is sent to its webhook whatever its filters, and to no other', async (t) => {
  const { create, execute, send, log, pool } = await withReplays(t)
  await create('tried', { types: ['wallet.created'], walletIds: ['wal_1'] })
  await create('other')
  await execute('tried', { type: 'TestWebhook', now: log.now() })
  await execute('other', { type: 'DisableWebhook', reason: 'requested', now: log.now() })
  const run = await send()
  const stop = new AbortController()
  const running = run(stop.signal)
  const read = async () =>
    (await pool.query('SELECT webhook_id, type FROM webhook_deliveries ORDER BY webhook_id, transaction_id, position'))
      .rows
  await eventually(async () => (await read()).some(({ type }) => type === 'webhook.disabled') || undefined)
  stop.abort()
  await running
  t.strictSame(await read(), [
    { webhook_id: 'other', type: 'webhook.disabled' },
    { webhook_id: 'tried', type: 'webhook.test' },
  ])
})

t.test('what ended or waited for a disabled webhook more than 30 days ago is removed, and nothing else', async (t) => {
  const { pool, log, create, execute } = await withReplays(t)
  await create('on')
  await create('off')
  await execute('off', { type: 'DisableWebhook', reason: 'requested', now: log.now() })
  const rows = [
    ['delivered long ago', 'on', 'delivered', 31],
    ['delivered', 'on', 'delivered', 29],
    ['delivered after a month', 'on', 'delivered', 29, 59],
    ['failed long ago', 'on', 'failed', 31],
    ['failed', 'on', 'failed', 29],
    ['waits for long', 'on', 'pending', 31],
    ['waits for a disabled one for long', 'off', 'pending', 31],
    ['waits for a disabled one', 'off', 'pending', 29],
  ] as const
  const now = Date.now()
  for (const [event, webhook, state, ended, added = ended] of rows) {
    await pool.query(
      `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at, state, ended_at)
       VALUES ($5, $2, 'acme', $1, 'x', $1, '5', 1, 0, $4, $4, $3, CASE WHEN $3 <> 'pending' THEN $4::timestamptz END)`,
      [event, webhook, state, new Date(now - ended * DAY), `${earliestIdAt('dlv', now - added * DAY)} ${event}`],
    )
  }
  await pool.query(
    `INSERT INTO webhook_secrets (secret_id, webhook_id, sealed, created_at) SELECT id, 'on', '', $2 FROM unnest($1::text[]) AS id`,
    [['whs_on', 'whs_replaced'], new Date(now - 2 * 3_600_000)],
  )
  t.equal(await removeOld(pool, now, NEVER), 4)
  const left = ['delivered', 'delivered after a month', 'failed', 'waits for a disabled one', 'waits for long']
  const { rows: kept } = await pool.query('SELECT event_id FROM webhook_deliveries ORDER BY event_id COLLATE "C"')
  t.strictSame(
    kept.map(({ event_id }) => event_id),
    left,
  )
  const { rows: gaps } = await pool.query('SELECT webhook_id, gaps::integer FROM webhook_health')
  t.strictSame(gaps, [{ webhook_id: 'off', gaps: 1 }], 'what was never sent is a gap')
  const { rows: secrets } = await pool.query('SELECT secret_id FROM webhook_secrets')
  t.strictSame(secrets, [{ secret_id: 'whs_on' }], 'a secret that signs no more is removed too')
})
