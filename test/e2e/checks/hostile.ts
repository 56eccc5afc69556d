/** Requests of hostile clients: bodies, headers and paths that are malformed, huge, poisoned or ambiguous. */
import type { Test } from 'tap'
import { type Client, sendBytes, told } from '../../support/client.ts'
import { AS_LONG_AS_MAY_BE, newAddress, type Sandbox } from '../../support/e2e-sandbox.ts'
import { matchExactly } from '../../support/match-exactly.ts'
import { checkUnstorable } from './unstorable.ts'

const CREATE = '/v1/wallets/create'
const GOOD = '{"type":"hd","network":"ethereum"}'

const BODIES: readonly [what: string, body: string | Buffer, status: number, expected: string][] = [
  ['nothing', '', 422, '- body_required'],
  ['null', 'null', 422, '- body_required'],
  ['a list', '[]', 422, '- wrong_type'],
  ['half of it', '{"type":"hd",', 400, '- malformed_json'],
  ['two of it', `${GOOD}${GOOD}`, 400, '- malformed_json'],
  ['another encoding', Buffer.from(GOOD, 'utf16le'), 400, '- malformed_json'],
  ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, '- malformed_json'],
  ['a byte order mark', `\ufeff${GOOD}`, 400, '- malformed_json'],
  ['more than the route takes', `{"label":"${'x'.repeat(65_536)}"}`, 413, '- body_too_large'],
  ['too many values', `[${'{},'.repeat(20_000)}{}]`, 422, '- too_many_values'],
  ['a field twice', '{"type":"mpc","type":"hd","network":"ethereum"}', 422, '- duplicate_field'],
  ['a prototype', '{"__proto__":{"type":"hd"},"network":"ethereum"}', 422, '__proto__ unknown_field'],
  [
    'a constructor',
    '{"constructor":{"prototype":{"a":1}},"type":"hd","network":"ethereum"}',
    422,
    'constructor unknown_field',
  ],
  ['NUL', '{"type":"hd","network":"ethereum","label":"a\\u0000b"}', 422, 'label invalid_text'],
  ['half a surrogate pair', '{"type":"hd","network":"ethereum","label":"\\ud83c"}', 422, 'label invalid_text'],
  ['depth', `{"type":"hd","network":"ethereum","label":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, 422, 'too_deep'],
]

export async function checkHostile(t: Test, sandbox: Sandbox): Promise<void> {
  const { client } = sandbox
  await t.test('malformed, oversized and ambiguous bodies are refused', (t) => bodies(t, client))
  await t.test('ambiguous and oversized headers are refused', (t) => headers(t, sandbox))
  await t.test('a path has a route, or is answered with 404, or with 405 and the allowed methods', (t) =>
    paths(t, sandbox),
  )
  await t.test('the largest valid bodies are accepted', (t) => largest(t, client))
  await t.test('no route fails on text that cannot be stored', (t) => checkUnstorable(t, sandbox))
  await t.test('after the hostile requests the service works as before', async (t) => {
    t.equal((await client.get('/readyz')).status, 200)
    t.strictSame(sandbox.service.deaths(), [])
    t.equal(({} as { a?: unknown }).a, undefined)
  })
}

async function bodies(t: Test, client: Client): Promise<void> {
  const before = (await client.get('/v1/wallets?limit=1')).body.data.wallets
  for (const [what, body, status, expected] of BODIES) {
    const answer = await client.post(CREATE, body, { 'content-type': 'application/json' })
    t.equal(answer.status, status, what)
    matchExactly(t, told(answer), [expected === 'too_deep' ? /^label(\[0\]){47} too_deep$/ : expected], what)
    t.ok(answer.text.length < 2_000, 'the answer is short')
  }
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'application/vnd.api+json', 'json', ';', '']
  for (const type of types) {
    const answer = await client.post(CREATE, GOOD, { 'content-type': type })
    t.strictSame([answer.status, ...told(answer)], [415, '- unsupported_media_type'], type)
  }
  const packed = await client.post(CREATE, GOOD, { 'content-encoding': 'gzip' })
  t.strictSame([packed.status, ...told(packed)], [415, '- unsupported_content_encoding'])
  t.strictSame((await client.get('/v1/wallets?limit=1')).body.data.wallets, before, 'no wallet was created')
  const type = 'Application/JSON; charset=utf-8'
  t.equal(
    (await client.post(CREATE, GOOD, { 'content-type': type, ...AS_LONG_AS_MAY_BE })).status,
    201,
    'an unusual content type is accepted',
  )
}

async function headers(t: Test, { client, state }: Sandbox): Promise<void> {
  for (const key of ['', 'a b', 'é', 'k'.repeat(256)]) {
    const answer = await client.post(CREATE, GOOD, { 'content-type': 'application/json', 'idempotency-key': key })
    t.strictSame([answer.status, ...told(answer)], [422, 'Idempotency-Key invalid_idempotency_key'], key.slice(0, 5))
  }
  t.equal((await client.once({ path: '/healthz', headers: { 'x-filler': 'x'.repeat(8_000) } })).status, 200)
  t.equal(
    (await client.once({ path: '/healthz', headers: { 'x-request-id': 'mine-7' } })).headers['x-request-id'],
    'mine-7',
  )
  t.match(
    (await client.once({ path: '/healthz', headers: { 'x-request-id': 'a b' } })).headers['x-request-id'],
    /^req_/,
  )

  const auth = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${state.api_key}\r\n`
  const post = `POST ${CREATE} HTTP/1.1\r\n${auth}Content-Type: application/json\r\n`
  const length = `Content-Length: ${GOOD.length}\r\n`
  const cases: readonly [string, string, RegExp][] = [
    [
      'two idempotency keys',
      `${post}Idempotency-Key: a\r\nIdempotency-Key: b\r\n${length}\r\n${GOOD}`,
      / 400 .*duplicate_header/s,
    ],
    ['two lengths', `${post}Content-Length: 5\r\n${length}\r\n${GOOD}`, / 400 .*malformed_request/s],
    ['a length and chunks', `${post}Transfer-Encoding: chunked\r\n${length}\r\n0\r\n\r\n`, / 400 .*malformed_request/s],
    ['two content types', `${post}Content-Type: text/plain\r\n${length}\r\n${GOOD}`, / 400 .*duplicate_header/s],
    ['two keys', `GET /v1/wallets HTTP/1.1\r\nAuthorization: Bearer x\r\n${auth}\r\n`, / 400 .*duplicate_header/s],
    ['two hosts', `GET /v1/wallets HTTP/1.1\r\nHost: y\r\n${auth}\r\n`, / 400 .*duplicate_header/s],
    [
      '20 KB of header',
      `GET /healthz HTTP/1.1\r\n${auth}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      / 431 .*headers_too_large/s,
    ],
    ['a control character', `GET /healthz HTTP/1.1\r\n${auth}X: a\x01b\r\n\r\n`, / 400 .*malformed_request/s],
    ['no HTTP at all', 'EHLO mail.example.com\r\n\r\n', / 400 .*"status":"error".*malformed_request/s],
  ]
  for (const [what, bytes, expected] of cases) t.match(await sendBytes(state.base_url, bytes), expected, what)
}

/**
 * They have no effect: they name resources that do not exist, which is only found after the body was parsed and
 * validated.
 */
async function largest(t: Test, client: Client): Promise<void> {
  const attributes = Array(100).fill({ trait_type: 'Background', value: 'x'.repeat(45) })
  const metadata = { name: 'n'.repeat(256), description: 'd'.repeat(1_500), image: 'ipfs://cid', attributes }
  const item = { recipient: newAddress(), metadata, amount: '1', edition: 1 }
  const mint = {
    collection_id: 'col_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11',
    minting_type: 'BATCH',
    items: Array(100).fill(item),
  }
  t.ok(JSON.stringify(mint).length > 1_000_000, '100 tokens with 100 attributes each have 1 MB')
  const minted = await client.post('/v1/nft/mint', mint)
  t.strictSame([minted.status, ...told(minted)], [404, '- collection_not_found'])

  const wallet = '/v1/wallets/wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'
  const escaped = `{"message":"${'\\u0001'.repeat(32_768)}"}`
  const signed = await client.post(`${wallet}/sign/message`, escaped)
  t.strictSame(
    [signed.status, ...told(signed)],
    [404, '- wallet_not_found'],
    'the longest escaped message is within the limit',
  )
  const types = { A: Array(2_600).fill({ name: 'a', type: 'b' }) }
  const typed = await client.post(`${wallet}/sign/typed-data`, { domain: { name: 'a' }, types, message: {} })
  t.notOk(told(typed).includes('- too_many_values'), '2,600 type members are within the limit of values')
  t.not(typed.status, 413)
}

async function paths(t: Test, { client, state }: Sandbox): Promise<void> {
  const cases: readonly [string, string, number, string][] = [
    ['GET', '/v1/nothing', 404, '- route_not_found'],
    ['GET', '/v1//wallets', 404, '- route_not_found'],
    ['GET', '/V1/wallets', 404, '- route_not_found'],
    ['GET', '/v1/wallets/%00', 404, '- wallet_not_found'],
    ['GET', '/v1/wallets/..%2f..%2fetc', 404, '- wallet_not_found'],
    ['GET', '/v1/wallets/WAL_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11', 404, '- wallet_not_found'],
    ['GET', '/v1/wallets/%zz', 400, '- malformed_url'],
    ['GET', '/v1/wallets/%C0%AF', 400, '- malformed_url'],
    ['GET', `/v1/wallets/${'a'.repeat(300)}`, 414, '- url_too_long'],
    ['GET', '/v1/wallets/create', 405, '- method_not_allowed'],
    ['GET', '/v1/nft/collections/create', 405, '- method_not_allowed'],
    ['DELETE', '/v1/wallets/create', 405, '- method_not_allowed'],
    ['PATCH', '/v1/wallets/watch?force=true', 405, '- method_not_allowed'],
    ['PUT', '/v1/nft/collections/create', 405, '- method_not_allowed'],
    ['PUT', '/v1/wallets', 405, '- method_not_allowed'],
    ['POST', '/healthz', 405, '- method_not_allowed'],
    ['GET', '/v1/sandbox/faucet', 405, '- method_not_allowed'],
  ]
  for (const [method, path, status, expected] of cases) {
    const answer = await client.once({ method, path })
    t.strictSame([answer.status, ...told(answer)], [status, expected], `${method} ${path.slice(0, 40)}`)
  }
  const options = await client.once({ method: 'OPTIONS', path: '/v1/wallets' })
  t.strictSame([options.status, options.headers.allow], [204, 'GET, HEAD, OPTIONS'])
  for (const path of ['/v1/sandbox/faucet', '/v1/wallets/create', '/v1/nft/collections/create'])
    for (const method of ['GET', 'PUT'])
      t.equal((await client.once({ method, path })).headers.allow, 'OPTIONS, POST', path)
  const line = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
  for (const path of ['/v1/wallets/a\0b', '/v1/wallets/\xff'])
    t.match(await sendBytes(state.base_url, line(path)), / 400 /)
}
