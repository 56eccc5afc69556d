/**
 * Requests of every kind on one connection, one after the other without waiting for responses, and connections that are cut
 * while they are answered: what was counted for them is free again.
 */

import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { routesOf } from '../../src/compose/api.ts'
import { composeQuotas } from '../../src/compose/quotas.ts'
import { createLatch } from '../../src/core/latch.ts'
import type { Routes } from '../../src/http/request.ts'
import { withContext } from '../support/capabilities.ts'
import { type FeedApi, serveFeed } from '../support/feed-stage.ts'
import { KEYS } from '../support/http.ts'
import { createRandom, type Random } from '../support/load-random.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { CREATE } from '../support/wallet-api.ts'
import { beat } from '../support/wallet-parts.ts'

/** Requests in flight that a tenant may have here. */
const IN_FLIGHT = 30
const STREAMS = 20
const LIMITS = { streams: { ofKey: STREAMS, ofProcess: 1_000 }, times: { heartbeatMs: 200, stallMs: 60_000 } }
const HELD = {
  tags: ['Test'],
  operationId: 'hold',
  summary: 'Hold',
  description: 'Is answered when the test says so.',
}

type Stage = FeedApi & {
  readonly connect: () => Promise<Socket>
  /** Every counter is back at zero, exactly: all that a tenant may have at once is admitted. */
  readonly isFree: () => Promise<boolean>
  /** Handlers of connections that are closed have ended, and the server knows of each closed connection. */
  readonly closed: () => Promise<void>
}

async function withService(t: Test): Promise<Stage> {
  const settings = { QUOTA_REQUESTS_IN_FLIGHT: String(IN_FLIGHT), QUOTA_BYTES_PER_SECOND: '0' }
  const parts = await withContext(t, {}, settings)
  await beat(parts)
  const { quotas } = composeQuotas(parts)
  const gate = createGate()
  const wallets = await routesOf(parts, ['wallets'])
  const routes: Routes = (app) => {
    for (const add of wallets) add(app)
    app.get('/v1/held', { schema: HELD, config: { scope: 'wallets:read' } }, async () => gate.pass())
  }
  const api = await serveFeed(t, parts, LIMITS, { quotas, routes })
  const { port } = api.app.server.address() as AddressInfo
  const count = async () => (await api.metrics.registry.getSingleMetric('bursar_feed_streams')?.get())?.values[0]?.value
  return {
    ...api,
    async connect() {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    },
    async closed() {
      while ((await connectionsOf(api)) > 0) await new Promise(setImmediate)
    },
    async isFree() {
      if ((await count()) !== 0) return false
      let answered = 0
      const all = Array.from({ length: IN_FLIGHT }, async () => {
        const { status } = await api.send({ url: '/v1/held' })
        answered += 1
        gate.told.set()
        return status
      })
      while (gate.inside() + answered < IN_FLIGHT) await gate.told.wait(1_000)
      gate.open()
      return (await Promise.all(all)).every((status) => status === 200)
    },
  }
}

function createGate() {
  const told = createLatch()
  let inside: (() => void)[] = []
  return {
    told,
    inside: () => inside.length,
    pass: () =>
      new Promise<object>((resolve) => {
        inside.push(() => resolve({}))
        told.set()
      }),
    open() {
      for (const leave of inside) leave()
      inside = []
    },
  }
}

function connectionsOf({ app }: FeedApi): Promise<number> {
  return new Promise((resolve, reject) => {
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEYS.full}\r\n`
const SSE = `GET /v1/events HTTP/1.1\r\n${HEAD}Accept: text/event-stream\r\n\r\n`
const LONG_POLL = `GET /v1/events?wait=60&types=webhook.test HTTP/1.1\r\n${HEAD}\r\n`
const GET = `GET /v1/wallets/wal_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11 HTTP/1.1\r\n${HEAD}\r\n`
let keys = 0

function post(body: string, seconds = 60): string {
  keys += 1
  const headers = `Idempotency-Key: key-${keys}\r\nPrefer: wait=${seconds}\r\nContent-Type: application/json\r\n`
  return `POST /v1/wallets/create HTTP/1.1\r\n${HEAD}${headers}Content-Length: ${body.length}\r\n\r\n${body}`
}

/**
 * A request of each kind, those that wait and those that nobody accepts. They wait for a second, because a connection with many
 * responses behind one that waits is not read meanwhile, and its end is not noticed.
 */
const KINDS: Readonly<Record<string, () => string>> = {
  get: () => GET,
  list: () => `GET /v1/wallets HTTP/1.1\r\n${HEAD}\r\n`,
  page: () => `GET /v1/events HTTP/1.1\r\n${HEAD}\r\n`,
  'long poll': () => LONG_POLL.replace('wait=60', 'wait=1'),
  stream: () => SSE,
  'post that waits': () => post(JSON.stringify(CREATE), 1),
  'bad body': () => post('{"type":'),
  'unknown route': () => `GET /v1/nothing HTTP/1.1\r\n${HEAD}\r\n`,
  'no key': () => 'GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n',
  'unknown event': () => `GET /v1/events?after=evt_x.1 HTTP/1.1\r\n${HEAD}Accept: text/event-stream\r\n\r\n`,
  'no request': () => 'GET /v1/events\r\n\r\n',
}

async function isServed({ page, stream }: Stage): Promise<boolean> {
  await page('limit=1', KEYS.listener)
  const opened = await stream('', { authorization: `Bearer ${KEYS.listener}` })
  opened.close()
  return opened.response.statusCode === 200
}

t.test('streams behind each other on one connection end with it', async (t: Test) => {
  const stage = await withService(t)
  const socket = await stage.connect()
  socket.write(SSE.repeat(2 * STREAMS))
  await once(socket, 'data')
  socket.destroy()
  await stage.closed()
  t.ok(await eventually(stage.isFree))
  t.ok(await isServed(stage))
})

for (const [kind, request] of [
  ['a stream', () => SSE],
  ['a request that waits for an event', () => LONG_POLL],
  ['a request that waits for an address', () => post(JSON.stringify(CREATE))],
] as const)
  t.test(`${kind} that is cut at any byte of it, behind another one, leaves nothing`, async (t: Test) => {
    const stage = await withService(t)
    const { length } = request()
    for (let bytes = 0; bytes <= length; bytes += 1) {
      const socket = await stage.connect()
      const all = request() + request()
      socket.write(all.slice(0, length + bytes))
      // Each other one is cut while its first requests are looked at, and each other one at once.
      if (bytes % 2 === 0) await new Promise(setImmediate)
      socket.destroy()
    }
    await stage.closed()
    t.ok(await eventually(stage.isFree))
    t.ok(await isServed(stage))
  })

/** Some requests of every kind, cut at a random byte of them, before, while or after they are answered. */
async function misuse(stage: Stage, random: Random, requests: number): Promise<void> {
  const socket = await stage.connect()
  const names = Object.keys(KINDS)
  const wanted = Array.from({ length: requests }, () => KINDS[random.pick(names)]?.() ?? '')
  const bytes = Buffer.from(wanted.join(''))
  const end = random.chance(0.3) ? bytes.length : random.between(1, bytes.length)
  const cut = random.between(0, end)
  socket.write(bytes.subarray(0, cut))
  if (random.chance(0.5)) await new Promise(setImmediate)
  if (!socket.destroyed) socket.write(bytes.subarray(cut, end))
  for (let turns = random.between(0, 20); turns > 0; turns -= 1) await new Promise(setImmediate)
  const leave = [() => socket.resetAndDestroy(), () => socket.destroySoon(), () => socket.destroy()]
  random.pick(leave)()
}

t.test('10,000 requests of every kind on connections that are cut anywhere leave nothing', async (t: Test) => {
  const stage = await withService(t)
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = createRandom(seed)
  let sent = 0
  while (sent < 10_000) {
    const sizes = Array.from({ length: 10 }, () => random.between(1, 60))
    sent += sizes.reduce((sum, size) => sum + size, 0)
    await Promise.all(sizes.map((size) => misuse(stage, random, size)))
  }
  await stage.closed()
  t.ok(await eventually(stage.isFree), 'nothing is counted any more')
  t.ok(await isServed(stage), 'another key of the tenant is served')
})
