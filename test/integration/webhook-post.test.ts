/** Sending deliveries to receivers that misbehave, and to names that lead inside. */
import { once } from 'node:events'
import http, { type RequestListener } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createLatch } from '../../src/core/latch.ts'
import { createSafeAgents } from '../../src/webhooks/connect-safely.ts'
import { createProxyAgents } from '../../src/webhooks/connect-through-proxy.ts'
import { createLookUp, type LookUpAll } from '../../src/webhooks/look-up.ts'
import { postDelivery } from '../../src/webhooks/post.ts'
import { createIsAllowedAddress } from '../../src/webhooks/public-address.ts'
import { nextDelayMs } from '../../src/webhooks/retry-schedule.ts'
import { dnsServer } from '../support/dns-server.ts'
import { matchExactly } from '../support/match-exactly.ts'

const HEADERS = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,abc' }
const BODY = '{"id":"evt_1"}'
const LOOPBACK = ['127.0.0.0/8', '::1/128']

function withPost(t: Test, settings: { allowed?: readonly string[]; resolve?: LookUpAll; timeoutMs?: number } = {}) {
  const agents = createSafeAgents(
    createIsAllowedAddress(settings.allowed ?? []),
    settings.resolve ?? createLookUp({ hasOwnNetworks: settings.allowed !== undefined }),
  )
  t.after(() => {
    agents.http.destroy()
    agents.https.destroy()
  })
  return postDelivery.bind(null, { agents, userAgent: 'bursar-test', timeoutMs: settings.timeoutMs ?? 15_000 })
}

async function withReceiver(t: Test, listener: RequestListener): Promise<string> {
  const server = http.createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

t.test(
  'a delivery arrives with its headers and its exact body, and the beginning of the response is kept',
  async (t) => {
    const seen: unknown[] = []
    const url = await withReceiver(t, async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      seen.push([request.method, request.headers['webhook-id'], request.headers['content-type'], body])
      response.statusCode = 202
      response.end('thank you')
    })
    const posted = await withPost(t, { allowed: LOOPBACK })(url, HEADERS, BODY)
    t.match(posted, { outcome: 'delivered', status: 202, error: null, response: 'thank you', retryAfterMs: null })
    t.strictSame(seen, [['POST', 'evt_1', 'application/json', BODY]])
  },
)

t.test('only 2xx is a success, 410 ends the endpoint, and a redirect is not followed', async (t) => {
  let status = 200
  let retryAfter = '7'
  let asked = 0
  const url = await withReceiver(t, (_request, response) => {
    asked += 1
    response.writeHead(status, { location: '/elsewhere', 'retry-after': retryAfter }).end()
  })
  const post = withPost(t, { allowed: LOOPBACK })
  const outcomes = []
  for (status of [204, 301, 307, 400, 410, 429, 500]) outcomes.push((await post(url, HEADERS, BODY)).outcome)
  t.strictSame(outcomes, ['delivered', 'failed', 'failed', 'failed', 'gone', 'failed', 'failed'])
  t.equal(asked, 7, 'nothing was requested twice')
  t.equal((await post(url, HEADERS, BODY)).retryAfterMs, 7_000)
  const soon = nextDelayMs(1, null, 0.5)
  const day = 86_400_000
  for (const [text, delay] of [
    ['31536000', day],
    ['99999999999999999999', soon],
    ['-5', soon],
    ['tomorrow', soon],
    ['Thu, 01 Jan 1970 00:00:00 GMT', soon],
    ['Fri, 31 Dec 9999 23:59:59 GMT', day],
  ] as const) {
    retryAfter = text
    t.equal(nextDelayMs(1, (await post(url, HEADERS, BODY)).retryAfterMs, 0.5), delay, `Retry-After: ${text}`)
  }
})

t.test(
  'a receiver that hangs, resets, sends without end or lies about the length costs no more than its share',
  async (t) => {
    const post = withPost(t, { allowed: LOOPBACK })
    const within = (timeoutMs: number) => withPost(t, { allowed: LOOPBACK, timeoutMs })
    const hanging = await withReceiver(t, () => undefined)
    const hung = await within(500)(hanging, HEADERS, BODY)
    t.match(hung, { outcome: 'failed', status: null, error: 'no response within 0.5 s' })

    const resetting = createServer((socket: Socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1')
    await once(resetting, 'listening')
    t.after(() => resetting.close())
    const reset = await post(`http://127.0.0.1:${(resetting.address() as AddressInfo).port}/`, HEADERS, BODY)
    t.match(reset, { outcome: 'failed', status: null, error: /ECONNRESET|socket hang up/ })

    let sent = 0
    const endless = await withReceiver(t, (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536
      }
      response.on('drain', more)
      more()
    })
    const flooded = await post(endless, HEADERS, BODY)
    t.equal(flooded.outcome, 'delivered')
    t.equal(flooded.response.length, 1_024)
    t.ok(sent < 100_000_000, `${sent} bytes were sent before the connection was closed`)

    const lying = await withReceiver(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('short', () => response.destroy())
    })
    t.match(await post(lying, HEADERS, BODY), { outcome: 'delivered', status: 200, response: 'short' })

    const dripping = await withReceiver(t, (_request, response) => {
      const timer = setInterval(() => response.write('x'), 50)
      response.once('close', () => clearInterval(timer))
    })
    const dripped = await within(2_000)(dripping, HEADERS, BODY)
    t.match(dripped, { outcome: 'delivered', status: 200, response: /^x{1,40}$/ })
  },
)

t.test('a receiver that takes over the connection, or sends bytes that are no text, has failed', async (t) => {
  const post = withPost(t, { allowed: LOOPBACK, timeoutMs: 2_000 })
  const bytesOf = (text: string) =>
    withReceiver(t, ({ socket }) => void socket.write(`HTTP/1.1 ${text.replaceAll('\n', '\r\n')}`))
  const switching = await bytesOf('101 Switching Protocols\nConnection: Upgrade\nUpgrade: other\n\nhello')
  t.match(await post(switching, HEADERS, BODY), { outcome: 'failed', status: 101, error: null })
  const zero = await bytesOf('500 Wrong\nContent-Length: 5\n\na\0b\u00ff')
  t.match(await post(zero, HEADERS, BODY), { outcome: 'failed', response: 'a\uFFFDb\u00ff' }, 'PostgreSQL refuses \\0')
  const long = await bytesOf(`200 OK\nX-Long: ${'x'.repeat(100_000)}\n\n`)
  t.match(await post(long, HEADERS, BODY), { outcome: 'failed', status: null, error: /Header overflow/ })
})

t.test('no notation of an internal address is reached', async (t) => {
  let reached = 0
  const url = await withReceiver(t, (_request, response) => {
    reached += 1
    response.end()
  })
  const { port } = new URL(url)
  const post = withPost(t)
  const hosts = [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '①②⑦.0.0.1',
  ]
  for (const host of hosts) {
    const posted = await post(`http://${host}:${port}/`, HEADERS, BODY)
    t.equal(posted.outcome, 'refused', `${host}: ${posted.error}`)
  }
  t.equal(reached, 0)
})

t.test(
  'a name is refused when one of its answers is internal, and when DNS answers differently the second time',
  async (t) => {
    let reached = 0
    const url = await withReceiver(t, (_request, response) => {
      reached += 1
      response.end()
    })
    const { port } = new URL(url)
    const answers: string[][] = []
    const resolve = await withDns(t, () => answers.shift() ?? ['127.0.0.1'])
    const post = withPost(t, { resolve })
    answers.push(['93.184.216.34', '127.0.0.1'])
    const mixed = await post(`http://mixed.test:${port}/`, HEADERS, BODY)
    t.match(mixed, { outcome: 'refused', error: 'mixed.test has an address that is not public' }, 'but not which')
    t.match(await post(`http://inside.test:${port}/`, HEADERS, BODY), { outcome: 'refused' })
    t.equal(reached, 0)

    // The name is looked up as public, and the connection made to another address, as by a second look-up.
    const agents = createSafeAgents(createIsAllowedAddress(), (_name, callback) =>
      callback(null, [{ address: '93.184.216.34', family: 4 }]),
    )
    const connect = agents.http.createConnection
    agents.http.createConnection = (options, callback) =>
      connect.call(
        agents.http,
        {
          ...options,
          lookup: (_name: string, _options: unknown, done: (...found: unknown[]) => void) =>
            done(null, [{ address: '127.0.0.1', family: 4 }]),
        } as never,
        callback,
      )
    t.after(() => agents.http.destroy())
    const rebound = await postDelivery({ agents, userAgent: 'test' }, `http://rebinding.test:${port}/`, HEADERS, BODY)
    t.match(rebound, { outcome: 'refused', error: 'the connection leads to an address that is not public' })
    t.equal(reached, 0, 'no byte of a request was processed')
  },
)

t.test('a proxy gets names to look up, no internal address, and a refusal of it is a failed attempt', async (t) => {
  const url = await withReceiver(t, (request, response) => void response.end(request.headers['webhook-id']))
  const { port } = new URL(url)
  const asked: unknown[] = []
  const proxy = http.createServer().listen(0, '127.0.0.1')
  proxy.on('connect', ({ url: authority, headers }, client: Socket) => {
    asked.push([authority, headers['proxy-authorization']])
    if (authority !== `receiver.test:${port}`) return client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    const receiver = connect(Number(port), '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
    receiver
      .on('error', () => undefined)
      .pipe(client.on('error', () => undefined))
      .pipe(receiver)
  })
  await once(proxy, 'listening')
  const proxyUrl = `http://user:p%40ss@127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const agents = createProxyAgents(proxyUrl, createIsAllowedAddress())
  const post = postDelivery.bind(null, { agents, userAgent: 'bursar-test' })
  const credentials = `Basic ${Buffer.from('user:p@ss').toString('base64')}`

  t.match(await post(`http://receiver.test:${port}/hook`, HEADERS, BODY), { outcome: 'delivered', response: 'evt_1' })
  for (const scheme of ['http', 'https']) {
    const inside = await post(`${scheme}://10.0.0.1:${port}/`, HEADERS, BODY)
    t.match(inside, { outcome: 'refused', error: '10.0.0.1 is not a public address' })
    const refused = await post(`${scheme}://other.test:8443/`, HEADERS, BODY)
    t.match(refused, { outcome: 'failed', status: null, error: 'the proxy refused the connection with status 403' })
  }
  t.strictSame(asked, [
    [`receiver.test:${port}`, credentials],
    ['other.test:8443', credentials],
    ['other.test:8443', credentials],
  ])
  proxy.close()
  await once(proxy, 'close')
  const down = await post(`http://receiver.test:${port}/hook`, HEADERS, BODY)
  t.match(down, { outcome: 'failed', error: 'the proxy cannot be reached' }, 'nobody else learns its address')
})

t.test('names that DNS never answers do not hold up the others', async (t) => {
  const asked = createLatch()
  const resolve = await withDns(t, (name) => {
    if (name === 'good.test') return ['10.1.2.3']
    asked.set()
    return null
  })
  const post = withPost(t, { resolve })
  const silent = Array.from({ length: 40 }, (_, n) => post(`http://silent${n}.test/`, HEADERS, BODY))
  await asked.wait(60_000, new AbortController().signal)
  let isSilent = true
  void Promise.race(silent).then(() => {
    isSilent = false
  })
  t.match(await post('http://good.test/', HEADERS, BODY), { error: 'good.test has an address that is not public' })
  t.ok(isSilent, 'it was answered before any of the others was given up')
  const outcomes = (await Promise.all(silent)).map(({ outcome }) => outcome)
  t.strictSame(new Set(outcomes), new Set(['failed']))
})

t.test('a name that DNS does not have is looked up by the system where own networks are allowed', async (t) => {
  const servers = [await dnsServer(t, () => [])]
  const find = (hasOwnNetworks: boolean, name: string) =>
    new Promise((resolve) =>
      createLookUp({ hasOwnNetworks, servers })(name, (error, addresses) => resolve(error?.message ?? addresses)),
    )
  t.match(await find(false, 'receiver.invalid'), /^query/)
  t.match(await find(true, 'receiver.invalid'), /^getaddrinfo/)
  matchExactly(t, await find(false, 'localhost'), [{ address: /^(127\.|::1)/ }], 'which needs no DNS')
})

async function withDns(t: Test, answer: (name: string) => readonly string[] | null): Promise<LookUpAll> {
  return createLookUp({ hasOwnNetworks: false, servers: [await dnsServer(t, answer)] })
}

t.test('a receiver that closes each connection that was kept gets no more time than any other', async (t) => {
  const waiting: http.ServerResponse[] = []
  let asked = 0
  const url = await withReceiver(t, (request, response) => {
    asked += 1
    if (asked > 6) setTimeout(() => request.socket.resetAndDestroy(), 900)
    else waiting.push(response)
    if (asked === 6) for (const one of waiting) one.end()
  })
  const post = withPost(t, { allowed: LOOPBACK, timeoutMs: 1_500 })
  const kept = await Promise.all(Array.from({ length: 6 }, () => post(url, HEADERS, BODY)))
  t.strictSame(
    kept.map(({ status }) => status),
    Array.from({ length: 6 }, () => 200),
  )
  t.match(await post(url, HEADERS, BODY), { outcome: 'failed', status: null })
  t.ok(asked <= 8, `it was sent ${asked - 6} times`)
})
