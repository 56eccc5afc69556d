/** Deliveries, tests and replays over HTTP: what is listed, attempted again, recorded once, and refused. */
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { findDueLines } from '../../src/webhooks/due-webhooks.ts'
import { told } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { as, withWebhooks } from '../support/webhook-stage.ts'

const ATTEMPT = {
  attempt: 1,
  at: '2026-01-01T00:00:00.000Z',
  outcome: 'failed',
  status: 500,
  error: null,
  response: 'no',
  duration_ms: 12,
}

t.test('deliveries are listed with their attempts, and one is attempted again', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  const ids = [1, 2, 3].map((n) => `dlv_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a1${n}`)
  await stage.pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, state, attempts, due_at, created_at, ended_at, attempt_list)
     SELECT d, $1, 'acme', 'evt_wallet-wal_' || n || '.1', 'wallet.created', 'wallet-' || n, '5'::xid8, n, 0,
            (ARRAY['delivered', 'failed', 'pending'])[n], n, now() + interval '1 hour', now(), CASE WHEN n < 3 THEN now() END,
            CASE WHEN n = 2 THEN $3::jsonb ELSE '[]' END
       FROM unnest($2::text[]) WITH ORDINALITY AS d(d, n)`,
    [id, ids, JSON.stringify([ATTEMPT])],
  )
  await stage.pool.query(`INSERT INTO webhook_health (webhook_id, gaps, paused_until) VALUES ($1, 1, now())`, [id])
  const list = async (query = '') =>
    (await stage.get(`/${id}/deliveries?${query}`)).body.data as {
      deliveries: readonly { delivery_id: string; state: string }[]
      next_cursor: string
    }
  const page = await list('limit=2')
  t.strictSame(
    page.deliveries.map(({ delivery_id }) => delivery_id),
    [ids[2], ids[1]],
  )
  matchExactly(t, await list(`limit=2&cursor=${page.next_cursor}`), {
    deliveries: [{ delivery_id: ids[0], next_attempt_at: null }],
  })
  for (const state of ['pending', 'delivered', 'failed'])
    t.strictSame(
      (await list(`state=${state}`)).deliveries.map((one) => one.state),
      [state],
    )
  const failed = await stage.get(`/${id}/deliveries/${ids[1]}`)
  matchExactly(t, failed.body.data, {
    state: 'failed',
    attempt_list: [ATTEMPT],
  })
  t.match((await stage.get(`/${id}`)).body.data, { gaps: 1, oldest_undelivered_at: String })
  const again = await stage.post(`/${id}/deliveries/${ids[1]}/retry`)
  t.match(again.body.data, { state: 'pending', ended_at: null, attempts: 2 })
  t.match((await stage.get(`/${id}`)).body.data, { gaps: 0 }, 'it is a gap no longer')
  const { webhook_id: other } = await stage.create()
  for (const answer of [
    await stage.get(`/${other}/deliveries/${ids[1]}`),
    await stage.post(`/${other}/deliveries/${ids[1]}/retry`),
  ])
    t.strictSame([answer.status, ...told(answer)], [404, '- delivery_not_found'])
  t.equal((await stage.get(`/${id}/deliveries`, undefined, as('cold'))).status, 404)
})

t.test('when its owner enables a webhook or changes its URL, what waits is due at once', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  await stage.pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, attempts, due_at, created_at)
     VALUES ('dlv_1', $1, 'acme', 'evt_wallet-wal_1.1', 'wallet.created', 'wallet-1', '5', 1, 0, 6, now(), now())`,
    [id],
  )
  await stage.pool.query('INSERT INTO webhook_health (webhook_id) VALUES ($1)', [id])
  const wait = async () => {
    await stage.pool.query(`UPDATE webhook_deliveries SET due_at = now() + interval '14 hours'`)
    await stage.pool.query(`UPDATE webhook_health SET paused_until = now() + interval '5 minutes'`)
  }
  const due = async () => (await findDueLines(stage.pool, new Date())).length === 1
  await wait()
  await stage.post(`/${id}/disable`)
  await stage.post(`/${id}/enable`)
  t.ok(await due(), 'a webhook that was disabled')
  await wait()
  t.notOk(await due())
  await stage.post(`/${id}/enable`)
  t.ok(await due(), 'one that fails, and is enabled')
  await wait()
  await stage.patch(`/${id}`, { description: 'of the shop' })
  t.notOk(await due(), 'another field changes no receiver')
  await stage.patch(`/${id}`, { url: 'https://example.com/moved' })
  t.ok(await due(), 'one that has moved')
})

t.test('tests and replays are recorded once, and refused with the field and the rule', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create({ types: ['wallet.created'] })
  const once = { 'idempotency-key': 'test' }
  const test = await stage.post(`/${id}/test`, undefined, once)
  t.strictSame([test.status, test.body.data], [202, { webhook_id: id, event_id: `evt_webhook-${id}.2` }])
  t.strictSame((await stage.post(`/${id}/test`, undefined, once)).body.data, test.body.data)

  const key = { 'idempotency-key': 'replay' }
  const body = { after: `evt_webhook-${id}.1`, to: '2030-01-01T01:00:00+01:00', types: ['wallet.created'] }
  const first = await stage.post(`/${id}/replay`, body, key)
  const expected = {
    ...body,
    to: '2030-01-01T00:00:00.000Z',
    from: null,
    only_failed: false,
    status: 'running',
    added: 0,
  }
  matchExactly(t, first, { status: 202, body: { data: expected } })
  t.strictSame((await stage.post(`/${id}/replay`, body, key)).body.data, first.body.data)
  const { replay_id } = first.body.data as { replay_id: string }
  t.strictSame((await stage.get(`/${id}/replays/${replay_id}`)).body.data, first.body.data)
  for (const [wrong, code] of [
    [{ after: 'evt_wallet-wal_nobody.1' }, 'after unknown_event'],
    [{ after: body.after, from: '2026-01-01T00:00:00Z' }, 'from ambiguous_start'],
    [{ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }, 'to empty_range'],
    [{ from: 'yesterday' }, 'from invalid_format'],
    [{ types: ['wallet.creatd'] }, 'types[0] unknown_event_type'],
    [{ types: ['wallet.archived'] }, 'types[0] type_not_sent'],
  ] as const) {
    const answer = await stage.post(`/${id}/replay`, wrong)
    t.strictSame([answer.status, ...told(answer)], [422, code])
  }
  const theirs = await stage.post(`/${id}/replay`, {}, as('cold'))
  t.strictSame([theirs.status, ...told(theirs)], [404, '- webhook_not_found'])
  await stage.post(`/${id}/disable`)
  const off = await stage.post(`/${id}/test`)
  t.strictSame([off.status, ...told(off)], [409, '- webhook_disabled'])
  t.strictSame((await compareLive(stage.pool, LOG_CONTENTS)).differences, [])
})

t.test('replays are listed, newest first, with what became of each', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  const request = async (webhookId = id) =>
    (await stage.post(`/${webhookId}/replay`, {})).body.data as { readonly replay_id: string }
  const [first, second, third] = [await request(), await request(), await request()]
  const { webhook_id: other } = await stage.create()
  await request(other)
  await stage.pool.query(
    `INSERT INTO webhook_replay_progress (replay_id, transaction_id, position, added, ended_at) VALUES ($1, '5', 1, 7, now()), ($2, '5', 1, 2, NULL)`,
    [first?.replay_id, second?.replay_id],
  )
  await stage.pool.query(`UPDATE webhook_replays SET requested_at = now() - interval '7 days'`)
  const requested_at = String
  const list = async (query: string) =>
    (await stage.get(`/${id}/replays?${query}`)).body.data as { replays: object[]; next_cursor: string }
  const page = await list('limit=2')
  matchExactly(t, page, {
    replays: [
      { ...third, requested_at, status: 'expired', added: 0, completed_at: null },
      { ...second, requested_at, status: 'running', added: 2 },
    ],
    has_more: true,
  })
  matchExactly(t, await list(`limit=2&cursor=${page.next_cursor}`), {
    replays: [{ ...first, requested_at, status: 'completed', added: 7, completed_at: String }],
    has_more: false,
  })
  const wrong = await stage.get(`/${id}/replays?cursor=x`)
  t.strictSame([wrong.status, ...told(wrong)], [422, 'cursor invalid_cursor'])
  const theirs = await stage.get(`/${id}/replays`, undefined, as('cold'))
  t.strictSame([theirs.status, ...told(theirs)], [404, '- webhook_not_found'])
})

t.test('a webhook has a limited number of replays that run', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  const request = (key: string) => stage.post(`/${id}/replay`, {}, { 'idempotency-key': key })
  const accepted = []
  for (let n = 0; n < 10; n += 1) accepted.push(await request(`replay-${n}`))
  t.ok(accepted.every(({ status }) => status === 202))
  const refused = await request('one-more')
  t.strictSame([refused.status, ...told(refused)], [409, '- too_many_replays'])
  t.equal((await request('replay-0')).status, 202, 'a repeated request is no further one')
  await stage.pool.query(
    `INSERT INTO webhook_replay_progress (replay_id, transaction_id, position, added, ended_at)
     SELECT min(replay_id), '5', 1, 7, now() FROM webhook_replays`,
  )
  t.equal((await request('one-more')).status, 202, 'one has completed')
})

t.test('of two simultaneous requests with one key, one has the effect and returns the secret', async (t) => {
  const stage = await withWebhooks(t)
  const { webhook_id: id } = await stage.create()
  const cases = { '': { url: 'https://example.com/' }, '/rotate-secret': {}, '/test': undefined, '/replay': {} }
  for (const [path, body] of Object.entries(cases)) {
    const key = { 'idempotency-key': `twins of ${path}`.replaceAll(' ', '-') }
    const send = () => stage.post(path === '' ? '' : `/${id}${path}`, body, key)
    const answers = await Promise.all([send(), send()])
    const replayed = answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true')
    t.equal(replayed.length, 1, path)
    const secrets = answers.flatMap(({ body }) => body.data?.secret ?? [])
    t.equal(secrets.length, path === '' || path === '/rotate-secret' ? 1 : 0, path)
  }
  const { rows } = await stage.pool.query(`SELECT count(*)::integer AS n FROM events WHERE stream_id LIKE 'webhook-%'`)
  t.strictSame(rows, [{ n: 5 }])
})
