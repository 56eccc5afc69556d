/** API keys over HTTP, with the database user of the API: what a key may create, read, change, replace and revoke. */
import t, { type Test } from 'tap'
import { digestOf } from '../../src/access/token.ts'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { type KeyApi, type KeyStage, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const KEYS = 'POST /v1/api-keys'
const LATER = '2999-01-01T00:00:00.000Z'

async function withApi(t: Test): Promise<KeyStage & { readonly api: KeyApi }> {
  const stage = await withKeyStage(t)
  return { ...stage, api: await stage.startApi() }
}

t.test('a key is created, shown once, used, listed and revoked, and no secret is stored', async (t) => {
  const { api, pool, issue } = await withApi(t)
  const maker = await issue()
  const body = { label: 'shop', scopes: ['wallets:read', 'api_keys:read'], expires_at: '2999-01-01T01:00:00+01:00' }
  const made = await api.send(maker.token, { to: KEYS, body, once: 'shop' })
  matchExactly(t, made, {
    status: 201,
    data: {
      label: 'shop',
      status: 'active',
      environment: 'mainnet',
      scopes: body.scopes,
      effective_scopes: body.scopes,
      ip_allowlist: [],
      expires_at: LATER,
      last_used_on: null,
      issued_by: maker.keyId,
      api_key: /^bsk_mainnet_[0-9a-f]{64}$/,
      warnings: [],
    },
  })
  const { key_id: id, api_key: token } = made.data
  const again = await api.send(maker.token, { to: KEYS, body, once: 'shop' })
  matchExactly(t, again, {
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
    data: { key_id: id, api_key: null, warnings: [{ code: 'api_key_already_returned', field: 'api_key' }] },
  })
  t.equal(
    (await api.send(maker.token, { to: KEYS, body: { ...body, label: 'x' }, once: 'shop' })).code,
    'idempotency_key_reused',
  )

  const me = await api.send(token, { to: 'GET /v1/me', from: '::ffff:203.0.113.7' })
  t.match(me, { status: 200, data: { tenant_id: 'acme', key_id: id, label: 'shop', address: '::ffff:203.0.113.7' } })
  t.notOk('api_key' in me.data)
  t.equal((await api.send(token, { to: KEYS, body })).code, 'insufficient_scope')
  const listed = await api.send(token, { to: 'GET /v1/api-keys?limit=1' })
  matchExactly(t, listed, { status: 200, data: { api_keys: [{ key_id: id }], has_more: true } })
  const { next_cursor } = listed.data
  matchExactly(t, await api.send(token, { to: `GET /v1/api-keys?limit=1&cursor=${next_cursor}` }), {
    data: { api_keys: [{ key_id: maker.keyId, issued_by: null }], has_more: false },
  })
  const byMaker = await api.send(token, { to: `GET /v1/api-keys?issued_by=${maker.keyId}` })
  t.strictSame(
    byMaker.data.api_keys.map(({ key_id }: { key_id: string }) => key_id),
    [id],
  )

  const revoked = await api.send(maker.token, { to: `DELETE /v1/api-keys/${id}` })
  t.match(revoked, { status: 200, data: { status: 'revoked', revoked_reason: 'requested', revoked_at: String } })
  t.equal((await api.send(token, { to: 'GET /v1/me' })).code, 'api_key_invalid', 'at once in this process')
  t.strictSame((await api.send(maker.token, { to: `DELETE /v1/api-keys/${id}` })).data, revoked.data)
  t.match(await api.send(maker.token, { to: `PATCH /v1/api-keys/${id}`, body: { label: 'y' } }), {
    status: 409,
    code: 'api_key_ended',
  })

  for (const table of ['events', 'api_keys', 'idempotency_keys', 'api_key_uses']) {
    const { rows } = await pool.query(`SELECT row_to_json(x)::text AS text FROM ${table} x`)
    for (const { text } of rows) t.notOk(text.includes(token.slice('bsk_mainnet_'.length)), table)
  }
  const { rows } = await pool.query(
    "SELECT metadata->>'actor' AS actor, data->>'digest' AS digest FROM events WHERE stream_id = $1",
    [`apikey-${id}`],
  )
  matchExactly(t, rows, [
    { actor: `apikey:${maker.keyId}`, digest: digestOf(token) },
    { actor: `apikey:${maker.keyId}` },
  ])
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
})

t.test('a key gives only what it holds: scopes, expiry, addresses and environment', async (t) => {
  const { api, pool, issue } = await withApi(t)
  const { token: admin } = await issue()
  const list = { ip_allowlist: ['203.0.113.0/24'], force: true }
  const lesser = await api.send(admin, {
    to: KEYS,
    body: { scopes: ['api_keys:write', 'api_keys:read', 'wallets:read'], expires_at: LATER, ...list },
  })
  const from = '203.0.113.7'
  const create = (body: object) =>
    api.send(lesser.data.api_key, { to: KEYS, body: { scopes: ['wallets:read'], ...body }, from })
  for (const body of [
    { scopes: ['wallets:write'] },
    { scopes: ['*'] },
    { expires_at: null },
    { expires_at: '2999-01-01T00:00:00.001Z' },
    { ip_allowlist: [] },
    { ip_allowlist: ['203.0.112.0/23'] },
    { ip_allowlist: ['0.0.0.0/0', '203.0.113.7'] },
  ])
    t.match(await create(body), { status: 403, code: 'beyond_own_key' }, JSON.stringify(body))
  t.match(await create({ environment: 'testnet' }), { status: 403, code: 'environment_mismatch' })
  matchExactly(t, await create({ ip_allowlist: ['203.0.113.7'], expires_at: '2998-01-01T00:00:00Z' }), {
    status: 201,
    data: { ip_allowlist: ['203.0.113.7/32'], expires_at: '2998-01-01T00:00:00.000Z' },
  })
  matchExactly(
    t,
    (await create({})).data,
    { ip_allowlist: ['203.0.113.0/24'], expires_at: LATER },
    "what is omitted is the maker's",
  )
  t.equal(
    (await pool.query("SELECT FROM events WHERE type = 'ApiKeyIssued'")).rowCount,
    4,
    'what is refused is not recorded',
  )
})

t.test('a change takes away, and opens addresses only with a key that could create it', async (t) => {
  const { api, issue } = await withApi(t)
  const { token: admin, keyId: adminId } = await issue()
  const scopes = ['api_keys:read', 'api_keys:write', 'wallets:read']
  const weak = (await api.send(admin, { to: KEYS, body: { scopes } })).data
  const strong = (
    await api.send(admin, {
      to: KEYS,
      body: { scopes: ['wallets:write', 'wallets:read'], ip_allowlist: ['127.0.0.1'] },
    })
  ).data
  const change = (token: string, id: string, body: object, from?: string) =>
    api.send(token, { to: `PATCH /v1/api-keys/${id}`, body, ...(from === undefined ? {} : { from }) })
  t.match(await change(weak.api_key, strong.key_id, { ip_allowlist: ['127.0.0.0/8'] }), {
    status: 403,
    code: 'beyond_own_key',
  })
  t.match(await change(weak.api_key, strong.key_id, { ip_allowlist: [] }), { status: 403, code: 'beyond_own_key' })
  matchExactly(t, await change(admin, strong.key_id, { ip_allowlist: ['127.0.0.0/8'] }), {
    data: { ip_allowlist: ['127.0.0.0/8'] },
  })
  matchExactly(t, await change(admin, strong.key_id, { ip_allowlist: [] }), { data: { ip_allowlist: [] } })
  matchExactly(t, await change(weak.api_key, strong.key_id, { ip_allowlist: ['127.0.0.1'], label: 'closed' }), {
    status: 200,
    data: { ip_allowlist: ['127.0.0.1/32'], label: 'closed' },
  })
  for (const [body, code] of [
    [{ scopes: ['wallets:write', 'transactions:write'] }, 'scopes_widened'],
    [{ ip_allowlist: ['203.0.113.7'] }, 'excludes_caller'],
  ] as const)
    t.match(await change(admin, strong.key_id, body), { status: 422, code })
  matchExactly(t, await change(admin, strong.key_id, { scopes: ['wallets:read'], expires_at: LATER }), {
    data: { effective_scopes: ['wallets:read'], expires_at: LATER },
  })
  t.match(await change(admin, strong.key_id, { expires_at: null }), { status: 422, code: 'expiry_widened' })
  t.equal(
    (await api.send(strong.api_key, { to: 'POST /v1/wallets/create', body: {} })).code,
    'insufficient_scope',
    'at once',
  )

  await change(admin, weak.key_id, { ip_allowlist: ['127.0.0.1'] })
  t.match(
    await change(weak.api_key, weak.key_id, { ip_allowlist: ['127.0.0.0/8'] }),
    { status: 403, code: 'beyond_own_key' },
    'not its own',
  )
  t.match(await change(weak.api_key, weak.key_id, { ip_allowlist: [] }), { status: 403, code: 'beyond_own_key' })
  t.match(await change(weak.api_key, weak.key_id, { label: 'x' }, '203.0.113.7'), {
    status: 403,
    code: 'address_not_allowed',
  })
  t.match(await change(weak.api_key, adminId, { label: 'x' }), { status: 200 }, 'a label is no right')
})

t.test('a key replaces another one with the same terms, and both work for the overlap', async (t) => {
  const { api, issue, pool } = await withApi(t)
  const { token: admin, keyId: adminId } = await issue()
  const old = (
    await api.send(admin, { to: KEYS, body: { label: 'shop', scopes: ['*', 'signatures:write'], expires_at: LATER } })
  ).data
  const rotate = (token: string, id: string, overlap_seconds: number, once?: string) =>
    api.send(token, {
      to: `POST /v1/api-keys/${id}/rotate`,
      body: { overlap_seconds },
      ...(once === undefined ? {} : { once }),
    })
  const rotated = await rotate(admin, old.key_id, 3_600, 'r-1')
  const { key_id: id, api_key: token } = rotated.data
  t.match(rotated, {
    status: 201,
    data: { rotated_from: old.key_id, issued_by: adminId, label: 'shop', expires_at: LATER },
  })
  t.strictSame(rotated.data.effective_scopes, old.effective_scopes)
  t.match(await rotate(admin, old.key_id, 3_600, 'r-1'), { status: 201, data: { key_id: id, api_key: null } })
  t.match(await rotate(admin, old.key_id, 3_600), { status: 409, code: 'api_key_rotated' })
  for (const each of [old.api_key, token]) t.equal((await api.send(each, { to: 'GET /v1/me' })).status, 200)
  const before = await api.send(old.api_key, { to: 'GET /v1/me' })
  t.match(before.data, { rotated_to: id, status: 'active' })
  t.ok(before.data.expires_at < LATER)

  const last = await rotate(admin, id, 0)
  t.equal((await api.send(token, { to: 'GET /v1/me' })).code, 'api_key_invalid', 'without an overlap it ends at once')
  t.equal((await api.send(last.data.api_key, { to: 'GET /v1/me' })).status, 200)
  const lesser = (await api.send(admin, { to: KEYS, body: { scopes: ['api_keys:write', 'api_keys:read'] } })).data
  t.match(
    await rotate(lesser.api_key, last.data.key_id, 60),
    { status: 403, code: 'beyond_own_key' },
    'a lesser key gets no stronger one',
  )
  t.match(await rotate(lesser.api_key, lesser.key_id, 60), { status: 201 }, 'it may replace itself')

  const [first, second] = await Promise.all([rotate(admin, last.data.key_id, 60), rotate(admin, last.data.key_id, 60)])
  t.strictSame([first?.status, second?.status].sort(), [201, 409], 'of two at once one is the first')
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
})

t.test('a key of before keeps what it could do when it is replaced', async (t) => {
  const { api, issue } = await withApi(t)
  const { token: admin } = await issue()
  const { token, keyId } = await issue({ scopes: ['*'] })
  const grants = (await api.send(token, { to: 'GET /v1/me' })).data.effective_scopes
  t.notOk(grants.some((scope: string) => /^(webhooks:write|signatures|recovery|api_keys)/.test(scope)))
  const rotated = await api.send(admin, { to: `POST /v1/api-keys/${keyId}/rotate`, body: { overlap_seconds: 0 } })
  t.strictSame(rotated.data.effective_scopes, grants)
})

t.test('keys of another tenant, and of the other environment, do not exist', async (t) => {
  const { api, issue, pool } = await withApi(t)
  const mine = await issue()
  const strangers = [await issue({ tenantId: 'globex' }), await issue({ environment: 'testnet' })]
  const created = await api.send(mine.token, { to: KEYS, body: { scopes: ['wallets:read'] }, once: 'k' })
  const before = (await pool.query('SELECT FROM events')).rowCount
  for (const { token } of strangers) {
    for (const id of [mine.keyId, created.data.key_id])
      for (const [to, body] of [
        [`GET /v1/api-keys/${id}`],
        [`PATCH /v1/api-keys/${id}`, { label: 'x' }],
        [`POST /v1/api-keys/${id}/rotate`, { overlap_seconds: 0 }],
        [`DELETE /v1/api-keys/${id}`],
      ] as const)
        t.match(
          await api.send(token, { to, ...(body === undefined ? {} : { body }) }),
          { status: 404, code: 'api_key_not_found' },
          to,
        )
    t.match((await api.send(token, { to: 'GET /v1/api-keys' })).data.api_keys, { length: 1 })
    t.strictSame((await api.send(token, { to: `GET /v1/api-keys?issued_by=${mine.keyId}` })).data.api_keys, [])
  }
  t.equal((await pool.query('SELECT FROM events')).rowCount, before)
  const [, testnet] = strangers
  const replay = await api.send(testnet?.token ?? '', { to: KEYS, body: { scopes: ['wallets:read'] }, once: 'k' })
  t.match(
    replay,
    { status: 422, code: 'idempotency_key_reused' },
    'nor does a repeated request show one of the other environment',
  )
  const reader = await api.send(mine.token, { to: KEYS, body: { scopes: ['wallets:read'] } })
  t.equal(
    (await api.send(reader.data.api_key, { to: KEYS, body: { scopes: ['wallets:read'] }, once: 'k' })).code,
    'insufficient_scope',
  )
})
