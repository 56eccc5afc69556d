/** Connections of the queue that break at any moment: no process exits because of it, and the jobs run. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { openJobs } from '../support/job-places.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

t.test('a connection that breaks while a worker opens its queue does not end the process', async (t) => {
  const { url } = await withDatabase(t)
  const proxy = await startDatabaseProxy(() => Number(new URL(url).port))
  t.after(proxy.close)
  const behind = new URL(url)
  behind.port = String(proxy.port)
  // Each of the first statements of each kind is cut: the schema's migration, the query of its version, the first
  // fetches.
  const cut = new Map<string, number>()
  const CUTS_EACH = 2
  proxy.decide = (text) => {
    const kind = text.slice(0, 80)
    const times = cut.get(kind) ?? 0
    cut.set(kind, times + 1)
    return times < CUTS_EACH ? 'cut before' : 'pass'
  }
  const jobs = openJobs(t, { databaseUrl: behind.href })
  const ran = new Set<string>()
  jobs.process('lane', async (_, { id }) => void ran.add(id), { concurrency: 2 })
  await eventually(async () => {
    await jobs.add([{ queue: 'lane', id: 'one', data: { lane: 'one' } }])
    return ran.has('one')
  })
  t.ok((proxy.struck.get('cut before') ?? 0) > CUTS_EACH, `${proxy.struck.get('cut before')} connections broke`)
})

/**
 * `AuthenticationOk`, `ReadyForQuery` and `ErrorResponse` in one chunk: a server that is stopped during its greeting.
 */
const HELLO_AND_GOODBYE = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('Z', Buffer.from('I')),
  message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')),
])

/** The protocol's framing (PostgreSQL, "Message Formats"): the length includes itself. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/**
 * A port in front of a server, at which every second one of the first connections is greeted and immediately closed.
 */
async function startDyingServer(
  t: Test,
  target: number,
  dying: number,
): Promise<{ port: number; ended: () => number }> {
  let connections = 0
  let ended = 0
  const open = new Set<Socket>()
  const server = createServer((near) => {
    open.add(near.on('error', () => undefined))
    connections += 1
    if (connections % 2 === 1 && ended < dying) {
      ended += 1
      near.once('data', () => near.end(HELLO_AND_GOODBYE))
      return
    }
    const far = connect(target, '127.0.0.1').on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  t.after(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, ended: () => ended }
}

t.test('a connection that breaks as soon as it is ready does not end the process', async (t) => {
  const { url } = await withDatabase(t)
  const dying = await startDyingServer(t, Number(new URL(url).port), 12)
  const before = new URL(url)
  before.port = String(dying.port)
  const jobs = openJobs(t, { databaseUrl: before.href })
  const ran = new Set<string>()
  for (const queue of ['lane', 'submit'] as const) {
    jobs.process(queue, async (_, { id }) => void ran.add(id), { concurrency: 2 })
  }
  await eventually(async () => {
    await jobs.add([
      { queue: 'lane', id: 'one', data: { lane: 'one' } },
      { queue: 'submit', id: 'two', data: { transactionId: 'two' } },
    ])
    return ran.size === 2 && dying.ended() === 12
  })
  t.strictSame([...ran].sort(), ['one', 'two'])
})

t.end()
