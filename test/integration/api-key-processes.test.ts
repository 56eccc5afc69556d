/** API keys across API processes: how soon a revocation counts, races, days of use, addresses behind proxies, and reports. */
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { apiKeyAggregate } from '../../src/access/aggregate.ts'
import { expireKeys } from '../../src/access/expire-keys.ts'
import { createToken } from '../../src/access/token.ts'
import { insertBad } from '../support/bad-events.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { type KeyApi, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const KEYS = 'POST /v1/api-keys'
const ME = 'GET /v1/me'
const READER = { scopes: ['wallets:read'] }
const MAKER = { scopes: ['api_keys:read', 'api_keys:write', 'wallets:read'] }

/**
 * Presents a key that lacks the scope of the route: it is let in while the answer says that, which needs no database.
 *
 * @returns when the last request that was let in began, and the next answer
 */
async function lastLetIn({ send }: KeyApi, token: string) {
  for (let beganMs = Number.NEGATIVE_INFINITY; ; ) {
    // Requests without I/O would let nothing else happen.
    await turn()
    const nowMs = performance.now()
    const { code } = await send(token, { to: 'GET /v1/api-keys' })
    if (code !== 'insufficient_scope') return { beganMs, code }
    beganMs = nowMs
  }
}

t.test('another process lets no request in that begins a second after a revocation was answered', async (t) => {
  const { issue, startApi } = await withKeyStage(t)
  const [here, there] = [await startApi(), await startApi()]
  const { token: admin } = await issue()
  const { keyId, token } = await issue(READER)
  t.equal((await there.send(token, { to: ME })).status, 200)
  const letIn = lastLetIn(there, token)
  t.equal((await here.send(admin, { to: `DELETE /v1/api-keys/${keyId}` })).status, 200)
  const answeredMs = performance.now()
  const { beganMs, code } = await letIn
  t.equal(code, 'api_key_invalid')
  t.ok(beganMs < answeredMs + 1_000, `the last one began ${Math.round(beganMs - answeredMs)} ms after it`)
})

t.test('nor does a process that is cut from the database: it lets nobody in', async (t) => {
  const { issue, startApi, urlAs } = await withKeyStage(t)
  const url = new URL(urlAs('api'))
  const port = Number(url.port)
  const proxy = await startDatabaseProxy(() => port)
  t.after(proxy.close)
  Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) })
  const [here, cut] = [await startApi(), await startApi({ DATABASE_URL: url.href })]
  const { token: admin } = await issue()
  const { keyId, token } = await issue(READER)
  t.equal((await cut.send(token, { to: ME })).status, 200)
  proxy.decide = () => 'cut before'
  proxy.cutAll()
  const letIn = lastLetIn(cut, token)
  t.equal((await here.send(admin, { to: `DELETE /v1/api-keys/${keyId}` })).status, 200)
  const answeredMs = performance.now()
  const { beganMs, code } = await letIn
  t.equal(code, 'database_unavailable')
  t.ok(beganMs < answeredMs + 1_000, `the last one began ${Math.round(beganMs - answeredMs)} ms after it`)
  t.equal((await cut.send(token, { to: ME })).code, 'database_unavailable')
  proxy.decide = () => 'pass'
  let back: string | undefined = 'database_unavailable'
  while (back === 'database_unavailable') back = (await cut.send(token, { to: ME })).code
  t.equal(back, 'api_key_invalid')
})

t.test('of 1,000 requests beside a revocation each is accepted or refused, and none after it', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const without = { QUOTA_API_KEYS: '0' }
  const [here, there] = [await startApi(without), await startApi(without)]
  const { token: admin } = await issue()
  const { keyId, token } = await issue(MAKER)
  const replies = Array.from({ length: 1_000 }, (_, n) =>
    (n % 2 === 0 ? here : there).send(token, { to: KEYS, body: { scopes: ['wallets:read'] }, once: `key-${n}` }),
  )
  await Promise.race(replies)
  const revoked = await here.send(admin, { to: `DELETE /v1/api-keys/${keyId}` })
  t.equal(revoked.status, 200)
  const late = await there.send(token, { to: KEYS, body: { scopes: ['wallets:read'] } })
  t.ok(['api_key_invalid', 'beyond_own_key'].includes(late.code ?? ''), `${late.code}`)
  const answers = await Promise.all(replies)
  const made = answers.filter(({ status }) => status === 201).map(({ data }) => data.key_id)
  const codes = new Set(answers.filter(({ status }) => status !== 201).map(({ code }) => code))
  t.ok(made.length > 0)
  t.strictSame(
    [...codes].filter((code) => !['api_key_invalid', 'beyond_own_key'].includes(code ?? '')),
    [],
  )
  const { rows } = await pool.query(
    `SELECT k.key_id AS row_of, substr(e.stream_id, length('apikey-') + 1) AS logged
       FROM (SELECT * FROM api_keys WHERE issued_by = $1) AS k
       FULL JOIN (SELECT * FROM events WHERE data->>'issuedBy' = $1) AS e ON e.stream_id = 'apikey-' || k.key_id ORDER BY 2`,
    [keyId],
  )
  t.strictSame(
    rows,
    made.toSorted().map((id) => ({ row_of: id, logged: id })),
    'what was accepted is in the log, and nothing else',
  )
  const { rows: asked } = await pool.query('SELECT resource_id FROM idempotency_keys ORDER BY 1')
  t.strictSame(
    asked.map(({ resource_id }) => resource_id),
    made.toSorted(),
  )
})

t.test('no request is refused while keys are replaced under load', async (t) => {
  const { issue, startApi } = await withKeyStage(t)
  const apis = [await startApi(), await startApi()]
  const { token: admin } = await issue()
  let key = await issue(READER)
  let isOver = false
  const codes = new Set<unknown>()
  const clients = Array.from({ length: 8 }, async (_, n) => {
    for (; !isOver; await turn()) codes.add((await (apis[n % 2] as KeyApi).send(key.token, { to: ME })).status)
  })
  for (let n = 0; n < 10; n += 1) {
    const to = `POST /v1/api-keys/${key.keyId}/rotate`
    const { data } = await (apis[n % 2] as KeyApi).send(admin, { to, body: { overlap_seconds: 604_800 } })
    key = { ...key, keyId: data.key_id, token: data.api_key }
  }
  isOver = true
  await Promise.all(clients)
  t.strictSame([...codes], [200])
})

/** Presents a key until it is refused. @returns times of day: when the last request that was let in began, and the refusal */
async function untilRefused({ send }: KeyApi, token: string) {
  for (let lastMs = 0; ; await turn()) {
    const beganMs = Date.now()
    const { status, code } = await send(token, { to: ME })
    if (status !== 200) return { lastMs, refusedMs: Date.now(), code }
    lastMs = beganMs
  }
}

t.test('both keys work until the overlap ends, and a second later the old one works in no process', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const apis = [await startApi(), await startApi()]
  const [one, other] = apis as [KeyApi, KeyApi]
  const { token: admin } = await issue()
  const old = await issue(READER)
  const olds = apis.flatMap((api) => Array.from({ length: 4 }, () => untilRefused(api, old.token)))
  const rotate = { to: `POST /v1/api-keys/${old.keyId}/rotate`, body: { overlap_seconds: 2 } }
  const rotated = await Promise.all([one.send(admin, rotate), other.send(admin, rotate)])
  const [won, lost] = rotated.toSorted((a, b) => a.status - b.status)
  matchExactly(
    t,
    [won, lost],
    [{ status: 201 }, { status: 409, code: 'api_key_rotated' }],
    'of two at once one is the first',
  )
  const { api_key: next, key_id: nextId } = won?.data ?? {}
  matchExactly(t, lost?.body.errors, [{ details: { rotated_to: nextId } }])
  const { rows } = await pool.query('SELECT key_id FROM api_keys WHERE rotated_from = $1', [old.keyId])
  t.strictSame(rows, [{ key_id: nextId }])
  let isOver = false
  const codes = new Set<unknown>()
  const news = apis.map(async ({ send }) => {
    for (; !isOver; await turn()) codes.add((await send(next, { to: ME })).status)
  })
  const endsMs = Date.parse((await one.send(next, { to: ME })).data.created_at) + 2_000
  for (const { lastMs, refusedMs, code } of await Promise.all(olds)) {
    t.equal(code, 'api_key_invalid')
    t.ok(refusedMs >= endsMs, `refused ${endsMs - refusedMs} ms before the overlap ended`)
    t.ok(lastMs < endsMs + 1_000, `the last one began ${lastMs - endsMs} ms after the overlap`)
  }
  isOver = true
  await Promise.all(news)
  t.strictSame([...codes], [200])
})

t.test('the day of the last use is known after the process ends, and a request does not wait for it', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const { token, keyId } = await issue(MAKER)
  const unused = await issue()
  const api = await startApi()
  const lock = await pool.connect()
  await lock.query('BEGIN; LOCK TABLE api_key_uses IN EXCLUSIVE MODE')
  t.match(await api.send(token, { to: ME }), { status: 200, data: { last_used_on: null } }, 'while nobody can write it')
  const { rows } = await lock.query("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS today")
  await lock.query('COMMIT')
  lock.release()
  await api.app.close()
  const next = await startApi()
  const { last_used_on: day } = (await next.send(token, { to: `GET /v1/api-keys/${keyId}` })).data
  t.ok(day >= rows[0]?.today)
  t.match((await next.send(token, { to: `GET /v1/api-keys/${unused.keyId}` })).data, { last_used_on: null })
})

t.test(
  'the address of a client is what a trusted proxy says, and what another one says counts for nothing',
  async (t) => {
    const { issue, startApi } = await withKeyStage(t)
    const api = await startApi({ TRUSTED_PROXIES: '10.0.0.1', RATE_LIMIT_PER_SECOND: '2' })
    const { token } = await issue()
    const body = { scopes: ['wallets:read'], ip_allowlist: ['203.0.113.0/24'], force: true }
    const { api_key: listed } = (await api.send(token, { to: KEYS, body })).data
    const via = (from: string, forwardedFor?: string) =>
      api.send(listed, { to: ME, from, ...(forwardedFor === undefined ? {} : { forwardedFor }) })
    for (let n = 0; n < 5; n += 1) {
      t.equal((await via('10.0.0.2', '203.0.113.7')).code, 'address_not_allowed')
      t.equal(
        (await via('10.0.0.1', '203.0.113.7, 198.51.100.1')).code,
        'address_not_allowed',
        'a client may have sent the rest',
      )
      t.equal((await via('10.0.0.1')).code, 'address_not_allowed')
    }
    t.match(
      await via('10.0.0.1', '198.51.100.1, 203.0.113.7'),
      { status: 200, data: { address: '203.0.113.7' } },
      'its rate is not used up',
    )
    t.equal((await via('203.0.113.9')).status, 200)
    const metrics = await api.app.inject({ url: '/metrics' })
    t.match(metrics.payload, /bursar_api_key_refusals_total\{reason="address",process="api"\} 15\n/)
  },
)

t.test('a key that is found is revoked without a key, and the answer says nothing of it', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const [api, other] = [await startApi(), await startApi()]
  const { token, keyId } = await issue()
  const report = (found: string) => api.send(null, { to: 'POST /v1/api-keys/report', body: { api_key: found } })
  const answers = []
  for (const found of [createToken('mainnet'), 'anything', `${token} `]) answers.push(await report(found))
  t.equal((await other.send(token, { to: ME })).status, 200)
  answers.push(await report(token), await report(token))
  const shown = answers.map(({ status, body: { request_id: _, ...rest } }) => ({ status, rest }))
  for (const each of shown) t.strictSame(each, { status: 202, rest: { status: 'success', data: { received: true } } })
  t.equal((await api.send(token, { to: ME })).code, 'api_key_invalid')
  const { rows } = await pool.query(
    "SELECT data->>'reason' AS reason, metadata->>'actor' AS actor FROM events WHERE type = 'ApiKeyRevoked'",
  )
  t.strictSame(rows, [{ reason: 'reported', actor: 'reporter' }])
  const { token: admin } = await issue()
  t.match((await api.send(admin, { to: `GET /v1/api-keys/${keyId}` })).data, { revoked_reason: 'reported' })
})

t.test('that a key has expired is recorded once, also beside one whose stream cannot go on', async (t) => {
  const { issue, pool, kernel } = await withKeyStage(t)
  const [bad, good] = [await issue(), await issue()]
  for (const { keyId } of [bad, good]) {
    const now = kernel.log.now()
    const rotate = { type: 'RotateApiKey', rotatedTo: 'key_next', overlapEndsAt: now, now } as const
    await kernel.log.execute(apiKeyAggregate, keyId, rotate, { metadata: { tenantId: 'acme', actor: 'test' } })
  }
  await issue({ expiresAt: '2999-01-01T00:00:00.000Z' })
  await insertBad(pool, `apikey-${bad.keyId}`, { type: 'ApiKeyRevoked', schemaVersion: 99 })
  const events = async () =>
    (await pool.query("SELECT stream_id FROM events WHERE type = 'ApiKeyExpired'")).rows.map(
      ({ stream_id }) => stream_id,
    )
  await t.rejects(expireKeys(kernel), { code: 'broken_chain' })
  await t.rejects(expireKeys(kernel), { code: 'broken_chain' })
  t.strictSame(await events(), [`apikey-${good.keyId}`])
})
