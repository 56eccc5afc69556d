/** Authentication, rate limits, and how a repeated request is recognized. */
import t from 'tap'
import type { Metadata } from '../../src/core/messages.ts'
import type { App } from '../../src/http/request.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS, startTestApp, type TestApp } from '../support/http.ts'
import { TRANSFER, TRANSFER_PATH, transferRoutes, WALLET } from '../support/http-transfers.ts'
import { matchExactly } from '../support/match-exactly.ts'

const { app, send, lookedUp } = await startTestApp({ routes: transferRoutes })
t.teardown(() => app.close())

const NOTES = `/v1/wallets/${WALLET}/notes`

function transfer(headers: Record<string, string> = {}, body: object = TRANSFER, to: Pick<TestApp, 'send'> = { send }) {
  return to.send({ method: 'POST', url: TRANSFER_PATH, headers, payload: body })
}

/** The metadata that the log would record. */
function metadataIn({ body }: Answer): Metadata {
  return body.data?.metadata as Metadata
}

t.test(
  'a missing, malformed, unknown or revoked key gets 401 of one shape, before the body is looked at',
  async (t) => {
    const cases: [string | undefined, string, string][] = [
      [undefined, 'api_key_missing', 'Bearer realm="bursar"'],
      ['', 'api_key_missing', 'Bearer realm="bursar"'],
      ['Bearer', 'api_key_invalid', 'Bearer realm="bursar", error="invalid_token"'],
      ['Bearer nobody', 'api_key_invalid', 'Bearer realm="bursar", error="invalid_token"'],
      [`Basic ${KEYS.full}`, 'api_key_invalid', 'Bearer realm="bursar", error="invalid_token"'],
      [`Bearer ${KEYS.full} ${KEYS.full}`, 'api_key_invalid', 'Bearer realm="bursar", error="invalid_token"'],
      [`Bearer ${'x'.repeat(600)}`, 'api_key_invalid', 'Bearer realm="bursar", error="invalid_token"'],
    ]
    for (const [authorization, code, challenge] of cases) {
      const response = await app.inject({
        method: 'POST',
        url: TRANSFER_PATH,
        headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
        payload: '{broken',
      })
      t.equal(response.statusCode, 401, authorization ?? 'none')
      t.equal(response.headers['www-authenticate'], challenge)
      matchExactly(t, response.json(), {
        status: 'error',
        errors: [{ type: 'authentication_error', code }],
        request_id: /^req_/,
      })
      t.strictSame(Object.keys(response.json().errors[0]).sort(), ['code', 'message', 'type'])
    }
    for (const authorization of [`bearer ${KEYS.full}`, `BEARER   ${KEYS.full}`]) {
      t.equal((await transfer({ authorization })).status, 202, 'the scheme is case-insensitive')
    }
  },
)

t.test('a known key is not looked up; one that only the database knows is', async (t) => {
  const before = lookedUp.length
  t.equal((await send({ method: 'GET', url: NOTES })).status, 200)
  t.equal(lookedUp.length, before)
  const cold = await send({ method: 'GET', url: NOTES, headers: { authorization: `Bearer ${KEYS.cold}` } })
  t.match(cold.body.data, { tenant: 'globex' })
  t.strictSame(lookedUp.slice(before), [KEYS.cold])
})

t.test('a key without the scope of the route gets 403 that names it', async (t) => {
  const authorization = `Bearer ${KEYS.reader}`
  t.equal((await send({ method: 'GET', url: NOTES, headers: { authorization } })).status, 200)
  const answer = await transfer({ authorization })
  t.strictSame([answer.status, ...told(answer)], [403, '- insufficient_scope'])
  t.match(answer.body.message, /transactions:write/)
  t.equal(
    answer.headers['www-authenticate'],
    'Bearer realm="bursar", error="insufficient_scope", scope="transactions:write"',
  )
})

t.test('paths that no route takes, and those for operators and readers, need no key', async (t) => {
  for (const url of ['/nowhere', '/v1/nowhere']) t.equal((await app.inject({ url })).statusCode, 404)
  for (const url of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs/']) {
    t.equal((await app.inject({ url })).statusCode, 200, url)
  }
})

t.test('each key has a rate; answers say where it stands, and 429 when to come back', async (t) => {
  let now = 5_000_000
  const limited = await startTestApp({ routes: transferRoutes, settings: { rateLimitPerSecond: 3 }, clock: () => now })
  t.teardown(() => limited.app.close())
  const get = (key: string) => limited.send({ method: 'GET', url: NOTES, headers: { authorization: `Bearer ${key}` } })
  const standing = ({ status, headers }: Awaited<ReturnType<typeof get>>) => [
    status,
    headers['ratelimit-limit'],
    headers['ratelimit-remaining'],
    headers['ratelimit-reset'],
    headers['retry-after'],
  ]
  const first = [await get(KEYS.full), await get(KEYS.full), await get(KEYS.full)].map(standing)
  t.strictSame(first, [
    [200, '3', '2', '1', undefined],
    [200, '3', '1', '1', undefined],
    [200, '3', '0', '1', undefined],
  ])
  const refused = await get(KEYS.full)
  t.strictSame(standing(refused), [429, '3', '0', '1', '1'])
  matchExactly(t, refused.body.errors, [{ type: 'rate_limit_error', code: 'rate_limit_exceeded' }])
  t.equal((await get(KEYS.reader)).status, 200, 'another key has its own rate')
  now += 334
  t.equal((await get(KEYS.full)).status, 200, '333 ms refill one request')
})

t.test('an address that fails too often is told to wait, and no valid key behind it is', async (t) => {
  let now = 0
  const guessed = await startTestApp({ routes: transferRoutes, clock: () => now })
  t.teardown(() => guessed.app.close())
  const get = (token: string) =>
    guessed.send({ method: 'GET', url: NOTES, headers: { authorization: `Bearer ${token}` } })
  for (let attempt = 0; attempt < 100; attempt++) t.equal((await get(`guess-${attempt}`)).status, 401)
  const refused = await Promise.all(Array.from({ length: 900 }, (_, attempt) => get(`guess-${100 + attempt}`)))
  t.ok(refused.every(({ status, headers }) => status === 429 && headers['retry-after'] === '1'))
  const noKey = await guessed.app.inject({ url: NOTES })
  t.equal(noKey.statusCode, 429, 'a request without a key counts as a failure')
  t.equal((await get(KEYS.cold)).status, 200, 'a key that is not cached is still looked up')
  t.equal((await get(KEYS.full)).status, 200)
  t.equal((await guessed.send({ method: 'GET', url: NOTES, remoteAddress: '203.0.113.9' })).status, 200)
  now += 1_000
  t.equal((await get('guess-1000')).status, 401)
})

t.test(
  'behind a trusted proxy failures count by the address that it forwards, else by that of the connection',
  async (t) => {
    const proxied = await startTestApp({
      routes: transferRoutes,
      settings: { trustedProxies: ['10.0.0.0/8'] },
      clock: () => 0,
    })
    t.teardown(() => proxied.app.close())
    const fail = (remoteAddress: string, forwarded: string) =>
      proxied.app.inject({ url: NOTES, remoteAddress, headers: { 'x-forwarded-for': forwarded } })
    for (let attempt = 0; attempt < 100; attempt++) await fail('10.0.0.1', '198.51.100.1')
    t.equal((await fail('10.0.0.1', '198.51.100.1')).statusCode, 429)
    t.equal((await fail('10.0.0.1', '198.51.100.2')).statusCode, 401)
    for (let attempt = 0; attempt < 100; attempt++) await fail('203.0.113.5', `198.51.100.${attempt}`)
    t.equal((await fail('203.0.113.5', '198.51.100.200')).statusCode, 429, 'a client cannot forge its address')
  },
)

t.test("every answer has a request id: the caller's if it is fit to be echoed, else one of ours", async (t) => {
  t.equal((await transfer({ 'x-request-id': 'mine-42' })).headers['x-request-id'], 'mine-42')
  t.match((await transfer({ 'x-request-id': 'mine-42' })).body.data, { metadata: { correlationId: 'mine-42' } })
  for (const unfit of ['', 'with space', 'é', 'x'.repeat(129)]) {
    t.match((await transfer({ 'x-request-id': unfit })).headers['x-request-id'], /^req_[0-9a-f-]{36}$/)
  }
  for (const url of ['/nowhere', '/%', '/docs/', '/metrics']) {
    t.match((await app.inject({ url })).headers['x-request-id'], /^req_/, url)
  }
})

t.test('answers of the sandbox have a sandbox header, answers of production do not', async (t) => {
  const sandbox = await startTestApp({ routes: transferRoutes, settings: { sandbox: true } })
  t.teardown(() => sandbox.app.close())
  t.equal((await transfer({}, TRANSFER, sandbox)).headers['x-sandbox'], 'true')
  t.equal((await sandbox.app.inject({ url: '/nowhere' })).headers['x-sandbox'], 'true')
  t.equal((await transfer()).headers['x-sandbox'], undefined)
})

t.test('the log records the caller, the request id, the trace and the key', async (t) => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const answer = await transfer({ traceparent, 'idempotency-key': 'k-1', 'x-request-id': 'r-1' })
  t.strictSame(metadataIn(answer), {
    tenantId: 'acme',
    actor: 'apikey:key_full',
    correlationId: 'r-1',
    traceparent,
    idempotency: {
      key: 'k-1',
      fingerprint: metadataIn(answer).idempotency?.fingerprint,
    },
  })
  t.notOk('traceparent' in metadataIn(await transfer({ traceparent: 'nonsense' })))
})

t.test('the same request has one fingerprint, another request another', async (t) => {
  const fingerprint = async (body: object, url = TRANSFER_PATH) => {
    const answer = await send({ method: 'POST', url, headers: { 'idempotency-key': 'k' }, payload: body })
    return metadataIn(answer).idempotency?.fingerprint
  }
  const first = await fingerprint(TRANSFER)
  t.match(first, /^[0-9a-f]{64}$/)
  const reordered = Object.fromEntries(Object.entries(TRANSFER).reverse())
  t.equal(await fingerprint(reordered), first, 'the order of members does not change the fingerprint')
  t.equal(await fingerprint({ ...TRANSFER, royalty: 2.5 }), await fingerprint({ ...TRANSFER, royalty: 2.5 }))
  const others = [
    await fingerprint({ ...TRANSFER, amount: '1.50' }),
    await fingerprint({ ...TRANSFER, gas_priority: 'medium' }),
    await fingerprint({ ...TRANSFER, royalty: 2.5 }),
    await fingerprint({ ...TRANSFER, abi: [{ a: 1, b: [1, 2] }] }),
    await fingerprint({ ...TRANSFER, abi: [{ a: 1, b: [2, 1] }] }),
    await fingerprint(TRANSFER, TRANSFER_PATH.replace('8a11', '8a12')),
  ]
  t.equal(new Set([first, ...others]).size, 7, 'an omitted default and a sent one have different fingerprints')
})

t.test('an idempotency key is 1 to 255 visible ASCII characters; a replay is marked', async (t) => {
  for (const key of ['', 'two words', 'é', 'x'.repeat(256), 'a\tb']) {
    const answer = await transfer({ 'idempotency-key': key })
    t.strictSame([answer.status, ...told(answer)], [422, 'Idempotency-Key invalid_idempotency_key'])
  }
  for (const key of ['x', 'x'.repeat(255), '!~{}"']) t.equal((await transfer({ 'idempotency-key': key })).status, 202)
  t.equal((await transfer({ 'idempotency-key': 'seen-before' })).headers['idempotency-replayed'], 'true')
  t.equal((await transfer({ 'idempotency-key': 'new' })).headers['idempotency-replayed'], undefined)
  t.notOk('idempotency' in metadataIn(await transfer()))
})

t.test('an applied preference is returned', async (t) => {
  t.equal((await transfer({ prefer: 'respond-async' })).headers['preference-applied'], 'respond-async')
  t.equal((await transfer({ prefer: 'wait=100' })).headers['preference-applied'], 'wait=60')
  t.equal((await transfer()).headers['preference-applied'], undefined)
})

t.test(
  'a route that forgets to say who may call it, leaves an object open or lacks its words fails the start',
  async (t) => {
    const words = { operationId: 'a', summary: 'A', description: 'A.', tags: ['T'] }
    const add = (schema: object, config: object) => (app: App) =>
      void app.post('/v1/things', { schema, config }, async () => ({}))
    const start = (schema: object, config: object = { scope: 'wallets:read' }) =>
      startTestApp({ routes: add(schema, config) })
    await t.rejects(start(words, {}), { message: /POST \/v1\/things must state config\.scope/ })
    await t.rejects(start({ ...words, description: '' }), { message: /must state schema\.description/ })
    await t.rejects(start({ ...words, operationId: undefined }), { message: /must state schema\.operationId/ })
    const open = { type: 'object', properties: { a: { type: 'object', properties: {} } }, additionalProperties: false }
    await t.rejects(start({ ...words, body: open }), { message: /body\.a must state additionalProperties/ })
    const items = {
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'object' } } },
      additionalProperties: false,
    }
    await t.rejects(start({ ...words, body: items }), { message: /body\.a\.items must state additionalProperties/ })
    const opened = await start(words, { scope: 'public' })
    t.equal((await opened.app.inject({ method: 'POST', url: '/v1/things' })).statusCode, 200, 'a public route is open')
    await opened.app.close()
  },
)
