/**
 * A proxy for PostgreSQL that injects faults: it parses statements by the protocol's framing, and a test decides the
 * fate of each: connection cut after it was sent, delayed, or refused as with a full disk.
 */
import net from 'node:net'

/** The fate of a statement: everything that a client sends before it waits for a response. */
export type StatementFate =
  | 'pass'
  /** The server executes it and responds; the response is dropped and the connection ends. */
  | 'cut after'
  /** It never reaches the server, and the connection ends. */
  | 'cut before'
  /** Answered by the proxy: 53100, no space left on device. Never inside a transaction. */
  | 'disk full'
  /** Delayed by this many milliseconds. */
  | { readonly lateMs: number }

export type DatabaseProxy = {
  readonly port: number
  /** @param text the statement with its parameters, where they are text */
  decide: (text: string) => StatementFate
  /** How often each fate was applied. */
  readonly struck: Map<string, number>
  /** Ends every connection. Returns their number. */
  readonly cutAll: () => number
  readonly close: () => Promise<void>
}

const SYNC = 0x53
const QUERY = 0x51
const PASSWORD = 0x70
const TERMINATE = 0x58
const FLUSH = 0x48
const COPY_DATA = 0x64
/** After one of these the client waits for a response, or expects none. */
const ENDS_BATCH = new Set([SYNC, QUERY, PASSWORD, TERMINATE, FLUSH, COPY_DATA])
const HEADER_BYTES = 5
/** `ReadyForQuery` outside a transaction. */
const READY_IDLE = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
/** Enough to identify a statement; its parameters may be megabytes. */
const SHOWN_BYTES = 400

/** @param target the server's port; called for each connection */
export async function startDatabaseProxy(target: () => number): Promise<DatabaseProxy> {
  const clients = new Set<net.Socket>()
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxy: DatabaseProxy = {
    port: (server.address() as net.AddressInfo).port,
    decide: () => 'pass',
    struck: new Map(),
    cutAll() {
      const { size } = clients
      for (const client of clients) client.destroy()
      return size
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const client of clients) client.destroy()
      }),
  }
  server.on('connection', (client) => {
    clients.add(client)
    client.on('close', () => clients.delete(client))
    relay(proxy, client, target())
  })
  return proxy
}

type Wire = { isIdle: boolean; isDeaf: boolean; started: boolean; unread: Buffer; batch: Buffer[]; last: Promise<void> }

function relay(proxy: DatabaseProxy, client: net.Socket, port: number): void {
  const upstream = net.connect({ port, host: '127.0.0.1', noDelay: true })
  const wire: Wire = {
    isIdle: false,
    isDeaf: false,
    started: false,
    unread: Buffer.alloc(0),
    batch: [],
    last: Promise.resolve(),
  }
  client.setNoDelay(true)
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  for (const socket of [client, upstream]) {
    socket.on('error', end)
    socket.on('close', end)
  }
  upstream.on('data', (chunk: Buffer) => {
    // The statement was executed: its response is lost.
    if (wire.isDeaf) return end()
    wire.isIdle = chunk.length >= READY_IDLE.length && chunk.subarray(-READY_IDLE.length).equals(READY_IDLE)
    client.write(chunk)
  })
  client.on('data', (chunk: Buffer) => {
    for (const batch of batchesOf(wire, chunk)) pass(proxy, wire, batch, { client, upstream, end })
  })
}

/** Complete batches received so far. The first message of a connection has no type. */
function batchesOf(wire: Wire, chunk: Buffer): Buffer[] {
  wire.unread = wire.unread.length === 0 ? chunk : Buffer.concat([wire.unread, chunk])
  const whole: Buffer[] = []
  for (;;) {
    const { unread, started } = wire
    if (unread.length < HEADER_BYTES) return whole
    const bytes = started ? 1 + unread.readUInt32BE(1) : unread.readUInt32BE(0)
    if (unread.length < bytes) return whole
    wire.batch.push(unread.subarray(0, bytes))
    wire.unread = unread.subarray(bytes)
    const endsBatch = !started || ENDS_BATCH.has(unread[0] ?? 0)
    wire.started = true
    if (endsBatch) whole.push(Buffer.concat(wire.batch.splice(0)))
  }
}

type Ends = { readonly client: net.Socket; readonly upstream: net.Socket; readonly end: () => void }

function pass(proxy: DatabaseProxy, wire: Wire, batch: Buffer, { client, upstream, end }: Ends): void {
  const isStatement = wire.isIdle
  const fate = isStatement ? proxy.decide(batch.toString('latin1', 0, SHOWN_BYTES)) : 'pass'
  if (fate !== 'pass') strike(proxy, typeof fate === 'string' ? fate : 'late')
  wire.isIdle = false
  switch (fate) {
    case 'cut before':
      end()
      return
    case 'disk full':
      wire.isIdle = true
      return void client.write(diskFull())
    case 'cut after':
      wire.isDeaf = true
      break
    default:
  }
  const waitMs = typeof fate === 'object' ? fate.lateMs : 0
  // In order: a statement without delay must not overtake a delayed one.
  wire.last = wire.last
    .then(() => (waitMs === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, waitMs))))
    .then(() => void upstream.write(batch))
}

function strike(proxy: DatabaseProxy, what: string): void {
  proxy.struck.set(what, (proxy.struck.get(what) ?? 0) + 1)
}

/** `ErrorResponse` and `ReadyForQuery` in PostgreSQL's encoding (protocol 3.0, "Message Formats"). */
function diskFull(): Buffer {
  const fields = ['SERROR', 'VERROR', 'C53100', 'Mcould not extend file: No space left on device', '']
  const body = Buffer.from(`${fields.join('\0')}\0`, 'utf8')
  const head = Buffer.alloc(HEADER_BYTES)
  head.write('E', 'latin1')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body, READY_IDLE])
}
