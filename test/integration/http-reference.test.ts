/** The reference: a complete document of every route, and a page that loads nothing from other servers. */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { CATALOGUE } from '../../src/declarations.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { startTestApp } from '../support/http.ts'
import { ADDRESS, transferRoutes, WALLET } from '../support/http-transfers.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { openapiProblems } from '../support/openapi.ts'

const { app } = await startTestApp({ routes: transferRoutes })
t.teardown(() => app.close())

function partition(all: readonly string[], isFirst: (one: string) => boolean): [string[], string[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

type Json = { readonly [name: string]: Json }
const document = (await app.inject({ url: '/openapi.json' })).json<Json>()
const transfer = document.paths?.['/v1/wallets/{wallet_id}/transfer']?.post as Json

t.test('every operation is named, described, secured, with examples and its refusals', async (t) => {
  t.equal(document.openapi as unknown, '3.1.0')
  t.match(document.info, { title: 'Bursar', version: '0.0.0-test', description: /Idempotency-Key/ })
  t.strictSame(Object.keys(document.paths ?? {}).sort(), [
    '/healthz',
    '/metrics',
    '/readyz',
    '/v1/wallets',
    '/v1/wallets/{wallet_id}/notes',
    '/v1/wallets/{wallet_id}/nudge',
    '/v1/wallets/{wallet_id}/restore',
    '/v1/wallets/{wallet_id}/transfer',
  ])
  const [fields, others] = partition(openapiProblems(document), (problem) => problem.includes(': the field '))
  t.strictSame(
    others,
    ['get /v1/wallets: parameter force is not described', 'get /v1/wallets: parameter status is not described'],
    'only the undescribed parameters are reported',
  )
  t.ok(fields.includes('components/schemas/NudgeWalletRequest: the field gas_priority is not described'))
})

t.test('an operation documents its route settings', async (t) => {
  t.equal(transfer.operationId as unknown, 'createTransfer')
  t.match(transfer.description, /^Sends currency\..*Waits up to 2 seconds for the hash.*`transactions:write`/s)
  matchExactly(t, transfer.security, [{ apiKey: [] }])
  t.match(document.components?.securitySchemes, { apiKey: { type: 'http', scheme: 'bearer' } })
  const parameters = transfer.parameters as unknown as { name: string; in: string; required: boolean }[]
  t.strictSame(
    parameters.map(({ name, in: place, required }) => `${place} ${name} ${required}`),
    ['path wallet_id true', 'header Idempotency-Key false', 'header Prefer false'],
  )
  const query = document.paths?.['/v1/wallets']?.get?.parameters as unknown as { name: string; required: boolean }[]
  t.strictSame(
    query.filter(({ required }) => required),
    [],
    'a parameter with a default is optional',
  )
  t.strictSame(Object.keys(transfer.responses ?? {}), [
    '202',
    '400',
    '401',
    '403',
    '404',
    '413',
    '414',
    '415',
    '422',
    '429',
    '500',
    '503',
  ])
  matchExactly(t, document.paths?.['/healthz']?.get, { security: [] })
  t.match(transfer.requestBody, { required: true })
  t.match(document.paths?.['/v1/wallets/{wallet_id}/nudge']?.post?.requestBody, { required: false })
  t.notOk('x-refusals' in transfer, 'the internal x-refusals is not in the document')
})

t.test('examples are whole and pass the validation that they document', async (t) => {
  const example = transfer.requestBody?.content?.['application/json']?.example as unknown as { to: string }
  t.match(example, { to: ADDRESS, amount: '1.5', network: 'ethereum', gas_priority: 'medium', label: /^Treasury/ })
  const { metadata, ...flat } = example as unknown as Record<string, unknown>
  t.match(metadata, { image: 'https://example.com/a' })
  const response = await app.inject({
    method: 'POST',
    url: `/v1/wallets/${WALLET}/transfer`,
    headers: { authorization: 'Bearer key-with-every-scope' },
    payload: flat,
  })
  t.equal(response.statusCode, 202, response.body)
})

t.test('a refusal in the reference has the form of the answers of the service', async (t) => {
  for (const [status, shared] of Object.entries(document.components?.responses ?? {})) {
    t.match(shared, { description: String, content: { 'application/json': { example: { status: 'error' } } } }, status)
  }
  const { body, statusCode } = await app.inject({
    method: 'POST',
    url: `/v1/wallets/${WALLET}/transfer`,
    headers: { authorization: 'Bearer nobody' },
  })
  const shown = document.components?.responses?.[String(statusCode)]?.content?.['application/json']?.example as Json
  t.strictSame((JSON.parse(body) as Json).errors, shown.errors)
})

t.test('this server serves the page and its script, and the policy allows no other server', async (t) => {
  t.equal((await app.inject({ url: '/docs' })).headers.location, '/docs/')
  const page = await app.inject({ url: '/docs/' })
  t.equal(page.statusCode, 200)
  t.match(page.headers['content-type'], 'text/html')
  const policy = String(page.headers['content-security-policy'])
  t.match(policy, /default-src 'none'/)
  t.match(policy, /connect-src 'self'/)
  t.notMatch(policy, /http|\*|unsafe-eval/)
  const addresses = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)
  t.strictSame(addresses, ['js/scalar.js'])
  t.match(page.body, '/openapi.json')
  t.notMatch(page.body, /https?:\/\//)
  const script = await app.inject({ url: '/docs/js/scalar.js' })
  t.equal(script.statusCode, 200)
  t.match(script.headers['content-type'], 'javascript')
  t.ok(script.body.length > 1_000_000)
})

t.test(
  'documents are sent compressed to clients that accept it, and not again to clients that have them',
  async (t) => {
    for (const url of ['/docs/', '/docs/js/scalar.js', '/openapi.json', '/metrics']) {
      const plain = await app.inject({ url })
      const packed = await app.inject({ url, headers: { 'accept-encoding': 'br, gzip;q=0.8' } })
      matchExactly(t, [plain.headers['content-encoding'], packed.headers['content-encoding']], [undefined, 'gzip'], url)
      t.equal(packed.headers.vary, 'accept-encoding')
      t.equal(gunzipSync(packed.rawPayload).toString(), plain.body)
      t.ok(packed.rawPayload.length < plain.rawPayload.length / 2 || plain.rawPayload.length < 2_000)
      const again = await app.inject({ url, headers: { 'if-none-match': `"other", ${plain.headers.etag}` } })
      t.strictSame([again.statusCode, again.body], [304, ''])
      const other = await app.inject({ url, headers: { 'if-none-match': '"other"', 'accept-encoding': 'gzip;q=0' } })
      t.strictSame([other.statusCode, other.headers['content-encoding']], [200, undefined])
    }
  },
)

t.test('the requests for documents of one address are limited, those for the large script to a tenth', async (t) => {
  let now = 0
  const limited = await startTestApp({ routes: transferRoutes, settings: { rateLimitPerSecond: 20 }, clock: () => now })
  t.teardown(() => limited.app.close())
  for (const [url, share] of [
    ['/openapi.json', 20],
    ['/metrics', 20],
    ['/docs/', 20],
    ['/docs/js/scalar.js', 2],
  ] as const) {
    now += 1_000
    const get = async () => (await limited.app.inject({ url })).statusCode
    for (let asked = 0; asked < share; asked++) t.equal(await get(), 200)
    const refused = await limited.app.inject({ url })
    matchExactly(t, [refused.statusCode, refused.headers['retry-after']], [429, '1'], url)
    t.equal((await limited.app.inject({ url, remoteAddress: '203.0.113.9' })).statusCode, 200, 'each address has one')
    t.equal((await limited.app.inject({ url: '/readyz' })).statusCode, 200, 'the readiness check is not limited')
  }
})

t.test('metrics are collected once a second, and served on the port of the API unless they have one', async (t) => {
  let now = 0
  let made = 0
  const metrics = createMetrics('test', CATALOGUE.metrics)
  metrics.addGauge('bursar_made', 'Renderings.', [], async () => [{ labels: {}, value: ++made }])
  const watched = await startTestApp({ routes: transferRoutes, metrics, clock: () => now })
  t.teardown(() => watched.app.close())
  await Promise.all(Array.from({ length: 50 }, () => watched.app.inject({ url: '/metrics' })))
  t.equal(made, 1)
  now += 1_000
  t.match((await watched.app.inject({ url: '/metrics' })).body, /^bursar_made.* 2$/m)
  const apart = await startTestApp({ routes: transferRoutes, settings: { serveMetrics: false } })
  t.teardown(() => apart.app.close())
  t.equal((await apart.app.inject({ url: '/metrics' })).statusCode, 404)
  t.equal((await apart.app.inject({ url: '/readyz' })).statusCode, 200)
})
