/** A node that lies: a real one behind it answers, and between the two a test decides what is passed on, and how. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export type RpcCall = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

/** What happens to one exchange, which may hold several calls. */
export type Fate =
  | { readonly type: 'pass' }
  /** The node does what it was asked; nobody hears of it. */
  | { readonly type: 'silence after' }
  | { readonly type: 'silence before' }
  | { readonly type: 'status'; readonly status: number }
  /** Half of a true answer, then the end of the connection. The node did what it was asked. */
  | { readonly type: 'cut' }
  | { readonly type: 'refuse' }
  /** Calls of this method are answered so and never reach the node; the others pass. */
  | { readonly type: 'answer'; readonly method: string; readonly answer: Answer }
  /** The same words, though the node did what it was asked. */
  | { readonly type: 'answer after'; readonly method: string; readonly answer: Answer }

export type Answer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

export type NodeProxy = {
  readonly url: string
  /** Decides on each exchange; passes everything on unless a test says otherwise. */
  decide: (calls: readonly RpcCall[]) => Fate
  /** How often each method was asked for, whatever became of it. */
  readonly asked: Map<string, number>
}

type Message = Record<string, unknown>

export async function withNodeProxy(t: Test, target: string): Promise<NodeProxy> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const proxy: NodeProxy = { url: `http://127.0.0.1:${port}`, decide: () => ({ type: 'pass' }), asked: new Map() }
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      exchange(proxy, target, Buffer.concat(chunks).toString('utf8'), response).catch(() => response.destroy())
    })
  })
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return proxy
}

async function exchange(proxy: NodeProxy, target: string, text: string, response: http.ServerResponse): Promise<void> {
  const body = JSON.parse(text) as RpcCall | RpcCall[]
  const calls = Array.isArray(body) ? body : [body]
  for (const { method } of calls) proxy.asked.set(method, (proxy.asked.get(method) ?? 0) + 1)
  const fate = proxy.decide(calls)
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
  const words = fate.type === 'answer' || fate.type === 'answer after' ? fate : null
  const lied = calls.filter(({ method }) => method === words?.method)
  const passed = fate.type === 'answer' ? calls.filter((call) => !lied.includes(call)) : calls
  const heard = await forward(target, passed)
  const answers = [
    ...heard.filter(({ id }) => !lied.some((call) => call.id === id)),
    ...lied.map(({ id }) => ({ jsonrpc: '2.0', id, ...words?.answer })),
  ]
  if (fate.type === 'silence after') return
  const json = JSON.stringify(Array.isArray(body) ? answers : answers[0])
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) })
  if (fate.type !== 'cut') return void response.end(json)
  response.write(json.slice(0, json.length / 2))
  setImmediate(() => response.destroy())
}

async function forward(target: string, calls: readonly RpcCall[]): Promise<Message[]> {
  if (calls.length === 0) return []
  const response = await fetch(target, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls),
  })
  return (await response.json()) as Message[]
}
