/** Bad input about API keys: what is refused names the field, the rule and what to do. */
import t from 'tap'
import { withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const KEYS = 'POST /v1/api-keys'
const READER = { scopes: ['wallets:read'] }

async function withApi(t: Test) {
  const stage = await withKeyStage(t)
  const api = await stage.startApi()
  const { token, keyId } = await stage.issue()
  const items = async (body: object, to = KEYS, by = token) =>
    (await api.send(by, { to, body: to === KEYS ? { ...READER, ...body } : body })).body.errors ?? []
  return { ...stage, api, token, keyId, items }
}
type Test = Parameters<typeof withKeyStage>[0]

t.test('fields that are no terms are refused, all of them at once', async (t) => {
  const { keyId, items } = await withApi(t)
  const codes = async (body: object, to?: string) => (await items(body, to)).map(({ code }) => code)
  t.strictSame(await codes({ ip_allowlist: ['203.0.113.7/24', '127.0.0.1', 'fe80::1%eth0'] }), [
    'invalid_range',
    'invalid_range',
  ])
  t.strictSame(await codes({ ip_allowlist: ['203.0.113.0/24'] }), ['excludes_caller'])
  t.strictSame(await codes({ ip_allowlist: ['127.0.0.0/8'] }), [])
  t.strictSame(await codes({ expires_at: '2020-01-01T00:00:00Z', scopes: ['wallets:raed'] }), [
    'invalid_scopes',
    'expires_in_the_past',
  ])
  t.strictSame(await codes({ expires_at: 'tomorrow' }), ['invalid_format'])
  t.strictSame(await codes({ scopes: [] }), ['too_few'])
  t.strictSame(await codes({ limit: 1 }), ['unknown_field'])
  t.strictSame(await codes({ label: 'a\u202eb' }), ['invalid_text'])
  t.strictSame(await codes({ overlap_seconds: 604_801 }, `POST /v1/api-keys/${keyId}/rotate`), ['too_large'])
  t.strictSame(await codes({}, `PATCH /v1/api-keys/${keyId}`), ['too_few'])
  t.strictSame(await codes({ environment: 'testnet' }, `PATCH /v1/api-keys/${keyId}`), ['unknown_field'])
})

t.test('what is refused names the field, the rule and what to do', async (t) => {
  const { api, items, pool, token } = await withApi(t)
  const maker = await api.send(token, {
    to: KEYS,
    body: {
      scopes: ['api_keys:write', 'wallets:read'],
      expires_at: '2999-01-01T00:00:00Z',
      ip_allowlist: ['127.0.0.1'],
    },
  })
  const { length: before } = (await pool.query('SELECT FROM events')).rows
  const thousand = Array.from({ length: 1_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`)
  for (const [body, field, message] of [
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', /^expires_at must be later than now, 20\d\d-.*Z\.$/],
    [{ ip_allowlist: thousand }, 'ip_allowlist', /^ip_allowlist must .*at most 100 /],
    [
      { ip_allowlist: ['127.0.0.1', '203.0.113.7/24'] },
      'ip_allowlist[1]',
      /^ip_allowlist\[1\] must be an IP address or a CIDR range without bits behind its prefix, such as .*"203.0.113.7\/24" is not/,
    ],
    [
      { ip_allowlist: ['::ffff:1.2.3.4'] },
      'ip_allowlist',
      /^ip_allowlist must contain the address of this request, 127.0.0.1: add it, or send force true/,
    ],
    [{ scopes: ['wallets:raed'] }, 'scopes', /^scopes must be one or more of: \*, .*wallets:read/],
  ] as const)
    matchExactly(t, await items(body), [{ type: 'validation_error', field, message }])
  for (const [body, field, message] of [
    [
      { scopes: ['wallets:write', 'wallets:read'] },
      'scopes',
      /does not hold wallets:write: leave that out, or use a key /,
    ],
    [{ expires_at: null }, 'expires_at', /expires at 2999-01-01T00:00:00.000Z: send no later time, or /],
    [{ ip_allowlist: [] }, 'ip_allowlist', /may be used from 127.0.0.1\/32 alone: send addresses within these, or /],
  ] as const)
    matchExactly(t, await items(body, KEYS, maker.data.api_key), [
      { type: 'permission_error', code: 'beyond_own_key', field, message },
    ])
  t.equal((await pool.query('SELECT FROM events')).rowCount, before, 'nothing of them is recorded')
})

t.test('an IPv4 address is the same in both forms, in a list and of a connection', async (t) => {
  const { api, token } = await withApi(t)
  for (const [listed, from] of [
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['1.2.3.4', '::ffff:1.2.3.4'],
  ] as const) {
    const { data } = await api.send(token, { to: KEYS, body: { ...READER, ip_allowlist: [listed], force: true } })
    t.strictSame(data.ip_allowlist, ['1.2.3.4/32'])
    t.equal((await api.send(data.api_key, { to: 'GET /v1/me', from })).status, 200)
    t.equal((await api.send(data.api_key, { to: 'GET /v1/me', from: '::ffff:1.2.3.5' })).code, 'address_not_allowed')
  }
})

t.test('a proxy that is not trusted is the client, and the refusal says so', async (t) => {
  const { api, token } = await withApi(t)
  const body = { ...READER, ip_allowlist: ['203.0.113.7'], force: true }
  const { data } = await api.send(token, { to: KEYS, body })
  const via = await api.send(data.api_key, { to: 'GET /v1/me', from: '10.0.0.2', forwardedFor: '203.0.113.7' })
  matchExactly(t, via, {
    status: 403,
    body: { errors: [{ code: 'address_not_allowed', message: /10\.0\.0\.2.*TRUSTED_PROXIES/ }] },
  })
  const refused = await api.send(token, {
    to: KEYS,
    body: { ...READER, ip_allowlist: ['203.0.113.7'] },
    from: '10.0.0.2',
    forwardedFor: '203.0.113.7',
  })
  matchExactly(t, refused.body.errors, [{ field: 'ip_allowlist', code: 'excludes_caller', message: /10\.0\.0\.2/ }])
})
