/** The reference: a document that says everything about every route, and a page that loads nothing from elsewhere. */
import t from 'tap'
import { startTestApp } from '../support/http.ts'
import { ADDRESS, transferRoutes, WALLET } from '../support/http-transfers.ts'
import { openapiProblems } from '../support/openapi.ts'

const { app } = await startTestApp({ routes: transferRoutes })
t.teardown(() => app.close())

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
  t.strictSame(
    openapiProblems(document),
    ['get /v1/wallets: parameter force is not described', 'get /v1/wallets: parameter status is not described'],
    'what the routes of this test leave out is told, and nothing else',
  )
})

t.test('an operation says what its route settings mean', async (t) => {
  t.equal(transfer.operationId as unknown, 'sendATransfer')
  t.match(transfer.description, /^Sends currency\..*Waits for the hash, 2 seconds at most.*`transactions:write`/s)
  t.match(transfer.security, [{ apiKey: [] }])
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
    'what has a default need not be sent',
  )
  t.strictSame(Object.keys(transfer.responses ?? {}), [
    '202',
    '400',
    '401',
    '403',
    '404',
    '413',
    '415',
    '422',
    '429',
    '500',
    '503',
  ])
  t.match(document.paths?.['/healthz']?.get, { security: [] })
  t.match(transfer.requestBody, { required: true })
  t.match(document.paths?.['/v1/wallets/{wallet_id}/nudge']?.post?.requestBody, { required: false })
  t.notOk('x-refusals' in transfer, 'what was only a note to ourselves is gone')
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

t.test('a refusal in the reference looks as the service answers it', async (t) => {
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

t.test('the page and its script come from this server, and the policy lets it ask nobody else', async (t) => {
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
