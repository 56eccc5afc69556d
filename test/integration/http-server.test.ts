/** The server on a real socket: bytes that are not HTTP, health, metrics, and orderly shutdown. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { CATALOGUE } from '../../src/declarations.ts'
import { createReadiness, type ReadinessCheck } from '../../src/http/health.ts'
import { createMetrics } from '../../src/http/metrics.ts'
import { startMetricsServer } from '../../src/http/metrics-server.ts'
import { told } from '../support/client.ts'
import { KEYS, startTestApp } from '../support/http.ts'
import { TRANSFER, TRANSFER_PATH, transferRoutes } from '../support/http-transfers.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

/** Sends raw bytes, and reads until the server closes the connection. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  let answer = ''
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk
  return answer
}

/** The value of a metric with exactly these labels, from the Prometheus text. */
function sample(text: string, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  for (const line of text.split('\n')) {
    const [, found, inner = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (found === name && inner.split(',').sort().join() === wanted.sort().join()) return Number(value)
  }
  return undefined
}

t.test('bytes that are not an HTTP request get an error of the same shape', async (t) => {
  const { app } = await startTestApp({ routes: transferRoutes })
  t.teardown(() => app.close())
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)
  const cases: [string, number, string][] = [
    ['hello\r\n\r\n', 400, 'malformed_request'],
    ['FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'malformed_request'],
    ['GET / HTTP/1.1\r\n\r\n', 400, 'malformed_request'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ]
  for (const [bytes, status, code] of cases) {
    const answer = await exchange(port, bytes)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), bytes.slice(0, 30))
    if (!answer.includes('{')) continue
    const body = JSON.parse(answer.slice(answer.indexOf('{'))) as unknown
    matchExactly(t, body, { status: 'error', errors: [{ type: 'validation_error', code }], request_id: /^req_/ })
  }
  const head = (length: number) =>
    `POST ${TRANSFER_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.full}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  t.match(await exchange(port, head(2_000_000)), /^HTTP\/1\.1 413 .*body_too_large/s, 'Content-Length is over limit')
  const body = JSON.stringify(TRANSFER)
  const closing = head(body.length).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  t.match(await exchange(port, `${closing}${body}`), /^HTTP\/1\.1 202 /)
})

t.test('readiness requires every check; the failed ones are returned with the reason', async (t) => {
  let now = 0
  let asked = 0
  const failing: Record<string, Error | null> = { database: null, queue: null }
  const checks: ReadinessCheck[] = Object.keys(failing).map((name) => ({
    name,
    check: async () => {
      asked += 1
      if (failing[name]) throw failing[name]
    },
  }))
  const { app, send } = await startTestApp({ routes: transferRoutes, readiness: createReadiness(checks, () => now) })
  t.teardown(() => app.close())
  const ready = () => send({ method: 'GET', url: '/readyz' })

  const answer = await ready()
  t.equal(answer.status, 200)
  t.strictSame(answer.body.data, {
    ready: true,
    degraded: false,
    checks: [
      { name: 'database', ok: true },
      { name: 'queue', ok: true },
    ],
  })
  await Promise.all([ready(), ready(), ready()])
  t.equal(asked, 2, 'a second check within a second makes no request')

  failing.database = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  now += 1_000
  const down = await ready()
  t.strictSame([down.status, down.headers['retry-after'], ...told(down)], [503, '1', '- not_ready'])
  t.equal(down.body.message, 'database: ECONNREFUSED')
  matchExactly(t, down.body.errors, [{ type: 'unavailable', details: { check: 'database' } }])
  t.equal((await send({ method: 'GET', url: '/healthz' })).status, 200, 'the process stays alive')

  failing.database = null
  now += 1_000
  t.equal((await ready()).status, 200, 'the process is ready again without a restart')
})

t.test('a check that does not answer in time has failed', async (t) => {
  const readiness = createReadiness([{ name: 'signer', check: () => new Promise(() => undefined) }], Date.now)
  matchExactly(t, await readiness(), [{ name: 'signer', ok: false, why: /did not answer in \d+ ms/ }])
})

t.test(
  'a warning needs an operator: the process stays ready, also when nobody can say whether there is one',
  async (t) => {
    const check = async () => undefined
    const checks: ReadinessCheck[] = [
      { name: 'quiet', check, warning: async () => null },
      { name: 'log_readers', check, warning: async () => 'pid 1 has had a transaction open for 40 s' },
      { name: 'slow', check, warning: () => new Promise(() => undefined) },
    ]
    const { app, send } = await startTestApp({ routes: transferRoutes, readiness: createReadiness(checks, Date.now) })
    t.teardown(() => app.close())
    const { status, body } = await send({ method: 'GET', url: '/readyz' })
    t.equal(status, 200)
    matchExactly(t, body.data, {
      ready: true,
      degraded: true,
      checks: [
        { name: 'quiet', ok: true, warning: undefined },
        { name: 'log_readers', ok: true, warning: 'pid 1 has had a transaction open for 40 s' },
        { name: 'slow', ok: true, warning: /did not answer/ },
      ],
    })
  },
)

t.test('requests are counted by route template and logged in one line, never by their path', async (t) => {
  const metrics = createMetrics('api', CATALOGUE.metrics)
  const { app, send, logged } = await startTestApp({ routes: transferRoutes, metrics, settings: { logRequests: true } })
  t.teardown(() => app.close())
  await send({ method: 'POST', url: `${TRANSFER_PATH}?secret=1`, payload: TRANSFER })
  await send({ method: 'POST', url: TRANSFER_PATH, payload: {} })
  for (const path of ['/a', '/b', '/v1/c']) await send({ method: 'GET', url: path })
  const { text, headers } = await send({ method: 'GET', url: '/metrics' })
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/)
  const route = '/v1/wallets/:wallet_id/transfer'
  const count = (labels: Record<string, string>) =>
    sample(text, 'bursar_http_request_duration_seconds_count', { ...labels, process: 'api' })
  t.equal(count({ method: 'POST', route, status: '202' }), 1)
  t.equal(count({ method: 'POST', route, status: '422' }), 1)
  t.equal(count({ method: 'GET', route: 'unmatched', status: '404' }), 3)
  t.ok(Number(sample(text, 'process_resident_memory_bytes', { process: 'api' })) > 1_000_000)
  t.match(logged()[0], {
    level: 'info',
    message: 'request',
    method: 'POST',
    route,
    status: 202,
    duration_ms: Number,
    tenant_id: 'acme',
    key_id: 'key_full',
    request_id: /^req_/,
  })
  t.equal(logged().length, 6)
  t.notMatch(JSON.stringify(logged()), /secret|0x7099|key-with-every/, 'the log has no query, body or key')
})

t.test('metrics of other modules are served, and a gauge that cannot be read does not affect the others', async (t) => {
  const metrics = createMetrics('signer', CATALOGUE.metrics)
  metrics.observeAppend({ commits: 7, durationMs: 3 })
  metrics.observeRpc({ network: 'polygon', method: 'eth_call', outcome: 'ok', durationMs: 12 })
  metrics.observeJob({ queue: 'lane', outcome: 'done', durationMs: 40 })
  metrics.count('bursar_signed_total', { network: 'polygon' }, 5)
  metrics.addGauge('bursar_jobs', 'Jobs.', ['queue'], async () => [{ labels: { queue: 'lane' }, value: 3 }])
  metrics.addGauge('bursar_lag', 'Lag.', [], () => Promise.reject(new Error('the database is down')))
  const server = await startMetricsServer(
    { host: '127.0.0.1', port: 0 },
    {
      metrics,
      readiness: createReadiness([{ name: 'database', check: () => Promise.reject(new Error('down')) }], Date.now),
    },
  )
  t.teardown(() => server.close())
  const get = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method })
  const text = await (await get('/metrics')).text()
  const value = (name: string, labels = {}) => sample(text, `bursar_${name}`, { ...labels, process: 'signer' })
  t.equal(value('append_batch_commits_bucket', { le: '8' }), 1)
  t.equal(value('append_batch_commits_bucket', { le: '4' }), 0)
  t.equal(value('append_duration_seconds_sum'), 0.003)
  t.equal(value('rpc_duration_seconds_count', { network: 'polygon', method: 'eth_call', outcome: 'ok' }), 1)
  t.equal(value('job_duration_seconds_count', { queue: 'lane', outcome: 'done' }), 1)
  t.equal(value('signed_total', { network: 'polygon' }), 5)
  t.equal(value('jobs', { queue: 'lane' }), 3)
  t.equal(value('lag'), undefined)
  const failures = await (await get('/metrics')).text()
  t.ok(sample(failures, 'bursar_gauge_failures_total', { gauge: 'bursar_lag', process: 'signer' }))
  t.equal((await get('/healthz')).status, 200)
  const ready = await get('/readyz')
  t.equal(ready.status, 503)
  matchExactly(t, await ready.json(), { status: 'error', errors: [{ code: 'not_ready', message: 'database: down' }] })
  t.equal((await get('/other')).status, 404)
  t.equal((await get('/metrics', 'POST')).status, 405)
})

/** A process that answers `/v1/slow` when `answer` is called, and its output lines. */
async function startStoppable(t: Test, options: { graceMs: number; env?: Record<string, string> }) {
  const script = new URL('../support/http-stopping.ts', import.meta.url).pathname
  const process_ = spawn(process.execPath, ['--import', 'tsx', script, String(options.graceMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...options.env },
  })
  t.teardown(() => process_.kill('SIGKILL'))
  let printed = ''
  process_.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const until = async (text: string) => {
    while (!printed.includes(text)) await once(process_.stdout, 'data')
  }
  await until('http://')
  const [url = ''] = /http:\S+/.exec(printed) ?? []
  const exited = once(process_, 'exit') as Promise<[number | null, string | null]>
  /** Until no new connection is accepted: the process has noticed a signal. */
  const refuses = () =>
    eventually(() =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
  return {
    url,
    until,
    refuses,
    exited,
    printed: () => printed,
    answer: () => void process_.stdin.write('answer\n'),
    kill: (signal: 'SIGTERM' | 'SIGINT') => process_.kill(signal),
  }
}

t.test('a signal lets running requests end, refuses new connections, and closes what they need last', async (t) => {
  const stoppable = await startStoppable(t, { graceMs: 60_000 })
  const answer = fetch(`${stoppable.url}/v1/slow`)
  await stoppable.until('begun')
  stoppable.kill('SIGTERM')
  t.ok(await stoppable.refuses(), 'new connections are refused while the request runs')
  stoppable.answer()
  const { status, headers } = await answer
  t.equal(status, 200)
  t.equal(headers.get('connection'), 'close')
  t.strictSame(await stoppable.exited, [0, null])
  t.match(stoppable.printed(), /begun\n.*database closed\n$/s)
})

t.test('a request that outlasts the grace time does not keep the process', async (t) => {
  const stoppable = await startStoppable(t, { graceMs: 200 })
  const answer = fetch(`${stoppable.url}/v1/slow`)
  await stoppable.until('begun')
  stoppable.kill('SIGINT')
  await t.rejects(answer)
  t.strictSame(await stoppable.exited, [1, null])
})

t.test('a second signal ends the process at once', async (t) => {
  const stoppable = await startStoppable(t, { graceMs: 600_000 })
  const answer = fetch(`${stoppable.url}/v1/slow`)
  await stoppable.until('begun')
  stoppable.kill('SIGTERM')
  // Two signals that are delivered together count as one.
  await stoppable.refuses()
  stoppable.kill('SIGTERM')
  await t.rejects(answer)
  t.strictSame(await stoppable.exited, [143, null])
})

t.test('a failed step does not keep the later ones from closing, and changes the exit code', async (t) => {
  const stoppable = await startStoppable(t, { graceMs: 60_000, env: { BREAK: '1' } })
  stoppable.kill('SIGTERM')
  t.strictSame(await stoppable.exited, [1, null])
  t.match(stoppable.printed(), /database closed\n$/)
})
