/** An HTTP server that answers JSON-RPC like a node, and fails like real ones when a test requires it. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { RpcRequest } from '../../src/chain/json-rpc.ts'

/** `stale`: a kept connection is closed when the next request arrives on it, like by an expired idle limit. */
export type Fault =
  | 'none'
  | 'refuse'
  | 'status 502'
  | 'status 429'
  | 'html'
  | 'cut'
  | 'hang'
  | 'silent'
  | 'overloaded'
  | 'stale'

export type RpcNode = {
  readonly url: string
  readonly port: number
  fault: Fault
  chainId: number
  head: number
  /** A body with more requests is refused. */
  batchLimit: number
  /** The error for a whole refused batch. */
  batchRefusal: { readonly code: number; readonly message: string }
  /** A larger body ends the connection while it is written, or gets 413. */
  maxBodyBytes: number
  oversized: 'cut' | '413'
  /** Replaces the default result, which is `{ method, params }`. */
  answer: (request: RpcRequest) => unknown
  /** Whether a body with this request gets no answer. */
  hangsAt: (request: RpcRequest) => boolean
  /** All requests except probes (chain id and head). */
  readonly asked: RpcRequest[]
  /** Bodies received, including probes. */
  bodies: number
  connections: number
  readonly stop: () => Promise<void>
}

type Message = RpcRequest & { readonly id: number }

export class NodeError {
  readonly error: { readonly code: number; readonly message: string }
  constructor(message: string, code = -32000) {
    this.error = { code, message }
  }
}

export async function startRpcNode(t: Test, options: { port?: number; chainId?: number } = {}): Promise<RpcNode> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const node: RpcNode = {
    url: `http://127.0.0.1:${port}/secret-key`,
    port,
    fault: 'none',
    chainId: options.chainId ?? 1,
    head: 100,
    batchLimit: Number.POSITIVE_INFINITY,
    batchRefusal: { code: -32000, message: 'batch limit 10 exceeded' },
    maxBodyBytes: Number.POSITIVE_INFINITY,
    oversized: 'cut',
    answer: ({ method, params }) => ({ method, params }),
    hangsAt: () => false,
    asked: [],
    bodies: 0,
    connections: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  server.on('connection', () => {
    node.connections += 1
  })
  server.on('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > node.maxBodyBytes && node.oversized === 'cut') request.socket.destroy()
      chunks.push(chunk)
    })
    request.on('end', () => {
      if (bytes > node.maxBodyBytes) response.writeHead(413).end('<html>Payload Too Large</html>')
      else reply(node, Buffer.concat(chunks).toString('utf8'), response)
    })
  })
  t.after(node.stop)
  return node
}

/** Connections that have carried a request. */
const served = new WeakSet<object>()

function reply(node: RpcNode, text: string, response: http.ServerResponse): void {
  node.bodies += 1
  const body = JSON.parse(text) as Message | Message[]
  const messages = Array.isArray(body) ? body : [body]
  node.asked.push(...messages.filter(({ method }) => method !== 'eth_chainId' && method !== 'eth_blockNumber'))
  const socket = response.socket
  const isKept = socket !== null && served.has(socket)
  if (socket !== null) served.add(socket)
  if (node.fault === 'hang' || messages.some(node.hangsAt)) return
  if (node.fault === 'stale' && isKept) return void socket?.destroy()
  if (node.fault === 'refuse') return void response.socket?.destroy()
  if (node.fault === 'status 502') return void response.writeHead(502).end('<html>Bad Gateway</html>')
  if (node.fault === 'status 429') return void response.writeHead(429, { 'retry-after': '7' }).end('slow down')
  if (node.fault === 'html') return void response.end('<html>maintenance</html>')
  const answers =
    messages.length > node.batchLimit
      ? { jsonrpc: '2.0', id: null, error: node.batchRefusal }
      : messages.map((message) => answerTo(node, message))
  const json = JSON.stringify(
    node.fault === 'silent' ? [] : Array.isArray(body) || !Array.isArray(answers) ? answers : answers[0],
  )
  if (node.fault !== 'cut') return void response.end(json)
  response.writeHead(200, { 'content-length': json.length }).write(json.slice(0, json.length / 2))
  setImmediate(() => response.socket?.destroy())
}

function answerTo(node: RpcNode, message: Message): unknown {
  const { id, method, params } = message
  if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: `0x${node.chainId.toString(16)}` }
  if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: `0x${node.head.toString(16)}` }
  const answer =
    node.fault === 'overloaded' ? new NodeError('rate limit exceeded', -32005) : node.answer({ method, params })
  return answer instanceof NodeError
    ? { jsonrpc: '2.0', id, error: answer.error }
    : { jsonrpc: '2.0', id, result: answer }
}
