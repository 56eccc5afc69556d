/**
 * What a client can cost the API or other clients: large bodies, slow requests, many connections, ambiguous headers.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { CATALOGUE } from '../../src/declarations.ts'
import { success, successOf } from '../../src/http/envelope.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import type { Routes } from '../../src/http/request.ts'
import { closedObject } from '../../src/http/schemas.ts'
import { told } from '../support/client.ts'
import { type Answer, KEYS, startTestApp, type TestAppOptions } from '../support/http.ts'
import { TRANSFER, TRANSFER_PATH, transferRoutes, WALLET } from '../support/http-transfers.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** The transfer routes, one with a larger body limit, and one that searches for any text. */
const routes: Routes = (app) => {
  transferRoutes(app)
  const schema = {
    operationId: 'importRows',
    summary: 'Import',
    description: 'Takes much.',
    tags: ['Test'],
    body: closedObject({ rows: Type.Array(Type.String()) }),
  }
  const body = { bytes: 131_072, values: 3_002 }
  app.post('/v1/imports', { schema, config: { scope: 'wallets:write', body } }, async () => ({}))
  const search = {
    operationId: 'search',
    summary: 'Search',
    description: 'Finds by any text.',
    tags: ['Test'],
    querystring: closedObject({ note: Type.Optional(Type.String()), limit: Type.Optional(Type.Integer()) }),
    response: { 200: successOf(Type.Unknown(), 'What was asked for.') },
  }
  app.get('/v1/search', { schema: search, config: { scope: 'wallets:read' } }, async ({ query }) => success(query))
}

const { app, send } = await startTestApp({ routes })
t.teardown(() => app.close())

function post(payload: string): Promise<Answer> {
  return send({ method: 'POST', url: TRANSFER_PATH, headers: JSON_TYPE, payload })
}

t.test('a body above the size limit of its route is refused with the limit', async (t) => {
  const sized = (bytes: number) => JSON.stringify(TRANSFER).padEnd(bytes)
  t.equal((await post(sized(65_536))).status, 202)
  const answer = await post(sized(65_537))
  t.strictSame([answer.status, ...told(answer)], [413, '- body_too_large'])
  t.match(answer.body.message, 'larger than the limit of 65536 bytes')
  const importTo = (to: typeof send, bytes: number) =>
    to({
      method: 'POST',
      url: '/v1/imports',
      headers: JSON_TYPE,
      payload: `{"rows":[${'"a",'.repeat(2_999)}"a"]}`.padEnd(bytes),
    })
  t.equal((await importTo(send, 131_072)).status, 200, 'a route may set a higher limit')
  t.equal((await importTo(send, 131_073)).status, 413)
  const small = await startTestApp({ routes, settings: { bodyLimitBytes: 32_768 } })
  t.teardown(() => small.app.close())
  t.equal((await importTo(small.send, 32_768)).status, 200)
  t.match((await importTo(small.send, 32_769)).body.message, /32768 bytes/, 'the setting limits every route')
})

t.test('a body with more values than its route takes is refused', async (t) => {
  const many = async (count: number, value: string) => post(`{"abi":[${Array(count).fill(value).join(' , ')}]}`)
  for (const value of ['{}', '[]', '0', '""', 'null', '"[,{:\\\\"']) {
    const taken = await many(2_046, value)
    t.notOk(told(taken).includes('- too_many_values'), `2048 values are accepted: ${value}`)
    const answer = await many(2_047, value)
    t.strictSame([answer.status, ...told(answer)], [422, '- too_many_values'], value)
    t.match(answer.body.message, 'The body has 2049 values and the limit is 2048')
  }
  const rows = (count: number) => ({ rows: Array(count).fill('a') })
  const importTo = (payload: object) => send({ method: 'POST', url: '/v1/imports', payload })
  t.equal((await importTo(rows(2_998))).status, 200, 'a route may set a higher limit')
  t.strictSame(told(await importTo(rows(3_001))), ['- too_many_values'])
})

t.test('an unknown route is refused before the body arrives', async (t) => {
  for (const [url, status] of [
    ['/v1/nothing', 404],
    ['/v1/wallets', 405],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url, headers: JSON_TYPE, payload: '{broken' })
    t.equal(answer.statusCode, status)
  }
})

const LIMITS = {
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  max: 4_000,
  maxPerAddress: 1_000,
  maxRequests: 0,
}

/** The application on a free port. */
async function listen(t: Test, options: Omit<TestAppOptions, 'routes'> = {}): Promise<number> {
  const { app } = await startTestApp({ routes: transferRoutes, ...options })
  t.teardown(() => app.close())
  return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
}

/** Everything received until the server closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  let answer = ''
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk
  return answer
}

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEYS.full}\r\n`
const GET = `GET /v1/wallets HTTP/1.1\r\n${HEAD}`
const BODY = JSON.stringify(TRANSFER)
const POST = `POST ${TRANSFER_PATH} HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`

t.test('a header that must be single is refused when it is sent twice', async (t) => {
  const port = await listen(t)
  const exchange = (bytes: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(bytes)
    return readAll(socket)
  }
  const end = 'Connection: close\r\n\r\n'
  t.match(await exchange(`${GET}${end}`), /^HTTP\/1\.1 200 /)
  for (const [header, value] of [
    ['Authorization', `Bearer ${KEYS.reader}`],
    ['authorization', `Bearer ${KEYS.full}`],
    ['HOST', 'x'],
    ['Content-Type', 'application/json'],
    ['idempotency-key', 'b'],
  ] as const) {
    const answer = await exchange(`${POST}Idempotency-Key: a\r\n${header}: ${value}\r\n${end}${BODY}`)
    t.match(answer, /^HTTP\/1\.1 400 .*sent more than once: send it once.*duplicate_header/s, header)
  }
  t.match(await exchange(`${POST}Content-Length: ${BODY.length}\r\n${end}${BODY}`), /^HTTP\/1\.1 400 /)
  const lists = 'Prefer: wait=1\r\nPrefer: respond-async\r\nAccept: a/b\r\nAccept: c/d\r\n'
  t.match(
    await exchange(`${POST}${lists}${end}${BODY}`),
    /^HTTP\/1\.1 202 .*wait=1/s,
    'a list header may be sent in parts',
  )
})

t.test('a request that does not arrive in time is answered 408 and its connection closed', async (t) => {
  const port = await listen(t, { settings: { connections: { ...LIMITS, requestTimeoutMs: 500 } } })
  for (const [what, first, piece] of [
    ['a slow head', GET, 'X-Piece: 1\r\n'],
    ['a slow body', `${POST}\r\n`, ' '],
    ['a slow body that nobody waits for', `${POST.replace(KEYS.full, 'nobody')}\r\n`, ' '],
  ] as const) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    const closed = once(socket, 'close')
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
    })
    socket.write(first)
    // Occasional bytes keep the connection from being idle; it was not closed after ten seconds.
    let pieces = 0
    while (!socket.destroyed && pieces++ < 100) {
      if (socket.writable) socket.write(piece)
      await Promise.race([closed, delay(100)])
    }
    t.ok(socket.destroyed, `the connection is closed: ${what}`)
    t.match(answer, /request_timeout|api_key_invalid/)
  }
  const silent = connect(port, '127.0.0.1')
  t.match(await readAll(silent), /^$|request_timeout/, 'a silent connection is closed too')
})

t.test('the number of connections is limited, in total and by address', async (t) => {
  const metrics = createMetrics('test', CATALOGUE.metrics)
  const dropped = async () =>
    (await metrics.registry.getSingleMetricAsString('bursar_http_connections_dropped_total')) ?? ''
  const open = async (port: number, localAddress = '127.0.0.1') => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => undefined)
    socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`)
    const served = await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)])
    t.teardown(() => socket.destroy())
    return { socket, served }
  }
  const port = await listen(t, { metrics, settings: { connections: { ...LIMITS, max: 4, maxPerAddress: 2 } } })
  const first = await open(port)
  const greedy = [first, await open(port), await open(port), await open(port)]
  t.strictSame(
    greedy.map(({ served }) => served),
    [true, true, false, false],
  )
  t.ok((await open(port, '127.0.0.2')).served, 'another address has its own limit')
  t.match(await dropped(), /limit="address".* 2$/m)
  first.socket.destroy()
  await once(first.socket, 'close')
  while (!(await open(port)).served) await delay(10)
  t.pass('a closed connection frees a place')
  await open(port, '127.0.0.2')
  t.notOk((await open(port, '127.0.0.3')).served, 'no connection above the total is accepted')
  t.match(await dropped(), /limit="total"/)

  const trusting = { trustedProxies: ['127.0.0.2'], connections: { ...LIMITS, maxPerAddress: 1 } }
  const behind = await listen(t, { settings: trusting })
  for (let count = 0; count < 5; count++)
    t.ok((await open(behind, '127.0.0.2')).served, 'connections of a trusted proxy are not limited')
  t.strictSame([(await open(behind)).served, (await open(behind)).served], [true, false])
})

t.test('a connection ends after a limited number of requests', async (t) => {
  const port = await listen(t, { settings: { connections: { ...LIMITS, maxRequests: 2 } } })
  const socket = connect(port, '127.0.0.1')
  socket.write(`${GET}\r\n${GET}\r\n${GET}\r\n`)
  const answers = (await readAll(socket)).split(/(?=HTTP\/1\.1)/)
  t.equal(answers.length, 2)
  t.match(answers[0], /^HTTP\/1\.1 200 .*connection: keep-alive/is)
  t.match(answers[1], /^HTTP\/1\.1 200 .*connection: close/is)
})

t.test('text that cannot be stored is refused in paths and queries, whatever the route looks for', async (t) => {
  const get = (url: string) => send({ method: 'GET', url })
  for (const id of ['%00', `${WALLET}%00`, 'a%00b']) {
    const answer = await get(`/v1/wallets/${id}/notes`)
    t.strictSame([answer.status, ...told(answer)], [404, '- wallet_not_found'], id)
  }
  for (const [query, name] of [
    ['note=%00', 'note'],
    ['note=a%00b&limit=1', 'note'],
    ['note=%ff', 'note'],
    ['note=%zz', 'note'],
    ['note=%', 'note'],
    ['note=%ed%a0%80', 'note'],
    ['%00=1', '%00'],
    ['%c0%80', '%c0%80'],
  ] as const) {
    const answer = await get(`/v1/search?${query}`)
    t.strictSame([answer.status, ...told(answer)], [422, `${name} invalid_text`], query)
  }
  t.strictSame(told(await get('/v1/search?note=%00&note=%ff&x=%')), [
    'note invalid_text',
    'note invalid_text',
    'x invalid_text',
  ])
  t.equal((await get('/v1/search?note=%ff')).body.message, 'note must be UTF-8, percent-encoded.')
  t.equal((await get('/v1/search?note=%00')).body.message, 'note contains the character NUL.')
  t.strictSame((await get('/v1/search?note=%F0%9F%8F%A6+100%25')).body.data, { note: '🏦 100%' })
  const stranger = await app.inject({ url: '/v1/search?note=%00' })
  t.equal(stranger.statusCode, 401, 'a caller without a key gets 401')
})
