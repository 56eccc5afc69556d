/** A node proxy that injects false answers: a real node answers, and a test decides what is passed on, and how. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Fate, Message, RpcCall } from './node-fates.ts'
import { askStale } from './stale-replica.ts'

export type NodeProxy = {
  readonly url: string
  /** Decides on each exchange; passes everything on by default. */
  decide: (calls: readonly RpcCall[]) => Fate
  /** How often each method was called, whatever its fate. */
  readonly asked: Map<string, number>
  /** False answers actually given, by kind: a fate that affects no call of the exchange does not count. */
  readonly told: Map<string, number>
  readonly close: () => Promise<void>
}

/** @param target the real node; called for each exchange, so that the node may start later */
export async function startNodeProxy(target: () => string): Promise<NodeProxy> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy: NodeProxy = {
    url: `http://127.0.0.1:${port}`,
    decide: () => ({ type: 'pass' }),
    asked: new Map(),
    told: new Map(),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      exchange(proxy, target, Buffer.concat(chunks).toString('utf8'), response).catch(() => response.destroy())
    })
  })
  return proxy
}

export async function withNodeProxy(t: Test, target: string): Promise<NodeProxy> {
  const proxy = await startNodeProxy(() => target)
  t.after(proxy.close)
  return proxy
}

/** A proxy that exists before its node: `before` takes the node's URL, and returns the node URLs for the service. */
export async function withNodeProxyBefore(
  t: Test,
): Promise<{ readonly node: NodeProxy; readonly before: (url: string) => Promise<readonly string[]> }> {
  let target = ''
  const node = await startNodeProxy(() => target)
  t.after(node.close)
  return {
    node,
    async before(url) {
      target = url
      return [node.url]
    },
  }
}

async function exchange(
  proxy: NodeProxy,
  target: () => string,
  text: string,
  response: http.ServerResponse,
): Promise<void> {
  const body = JSON.parse(text) as RpcCall | RpcCall[]
  const calls = Array.isArray(body) ? body : [body]
  for (const { method } of calls) count(proxy.asked, method)
  const fate = proxy.decide(calls)
  const lied = touchedBy(fate, calls)
  if (lied.length > 0) count(proxy.told, nameOf(fate))
  switch (fate.type) {
    case 'refuse':
      return void response.destroy()
    case 'silence before':
      return
    case 'status':
      return void response
        .writeHead(fate.status, fate.status === 429 ? { 'retry-after': '1' } : {})
        .end('<html>no</html>')
    default:
  }
  if (fate.type === 'held') await fate.until
  const ask = (some: readonly RpcCall[]) => forward(target(), some)
  const answers =
    fate.type === 'behind' ? await askStale(ask, calls, fate.blocks) : await answer(ask, calls, fate, lied)
  if (fate.type === 'silence after') return
  if (fate.type === 'late') await sleep(fate.ms, undefined, { ref: false })
  const json = JSON.stringify(Array.isArray(body) ? answers : answers[0])
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) })
  if (fate.type !== 'cut') return void response.end(json)
  response.write(json.slice(0, json.length / 2))
  setImmediate(() => response.destroy())
}

/** The real node's response with the false answer inserted. */
async function answer(
  ask: (calls: readonly RpcCall[]) => Promise<Message[]>,
  calls: readonly RpcCall[],
  fate: Fate,
  lied: readonly RpcCall[],
): Promise<Message[]> {
  if (fate.type !== 'answer' && fate.type !== 'answer after') return ask(calls)
  const heard = await ask(fate.type === 'answer' ? calls.filter((call) => !lied.includes(call)) : calls)
  return [
    ...heard.filter(({ id }) => !lied.some((call) => call.id === id)),
    ...lied.map(({ id }) => ({ jsonrpc: '2.0', id, ...fate.answer })),
  ]
}

function touchedBy(fate: Fate, calls: readonly RpcCall[]): readonly RpcCall[] {
  if (fate.type === 'pass') return []
  if (fate.type !== 'answer' && fate.type !== 'answer after') return calls
  const only = (fate.type === 'answer' && fate.only) || (() => true)
  return calls.filter((call) => call.method === fate.method && only(call))
}

function nameOf(fate: Fate): string {
  switch (fate.type) {
    case 'status':
      return `HTTP ${fate.status}`
    case 'behind':
      return `${fate.blocks} blocks behind`
    case 'answer':
    case 'answer after': {
      const words = 'error' in fate.answer ? fate.answer.error.message : `${fate.method} ${fate.answer.result}`
      return fate.type === 'answer' ? words : `${words}, and takes it`
    }
    default:
      return fate.type
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

async function forward(target: string, calls: readonly RpcCall[]): Promise<Message[]> {
  if (calls.length === 0) return []
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
  })
  return (await response.json()) as Message[]
}
