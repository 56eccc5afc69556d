/**
 * A server that implements the protocol of Kubo's RPC API for `add`: it uses Kubo's default options, hashes content
 * with IPFS' own importer, and can fail like a node or a proxy in front of it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { importBytes } from 'ipfs-unixfs-importer'
import { fixedSize } from 'ipfs-unixfs-importer/chunker'
import type { Test } from 'tap'

export type KuboFault =
  | 'hangs'
  | 'breaks off'
  | 'errors'
  | 'bad gateway'
  | 'redirects'
  | 'says nothing'
  | 'talks without end'
  | 'ignores options'

export type TestKubo = {
  readonly url: string
  /** Pinned content by CID. */
  readonly pinned: Map<string, Buffer>
  /** Number of requests. */
  readonly requests: () => number
  /** Maximum number of concurrent requests. */
  readonly mostAtOnce: () => number
  /** The fault from now on; only for content that includes `only`, if given. */
  readonly fail: (fault: KuboFault | null, only?: string) => void
  /** Connections are refused from now on. */
  readonly stop: () => Promise<void>
}

/** @param settings.authorization required header; `answerAfterMs` delay for each piece of content */
export async function startKubo(
  t: Test,
  settings: { readonly authorization?: string; readonly answerAfterMs?: number } = {},
): Promise<TestKubo> {
  const pinned = new Map<string, Buffer>()
  let [fault, only]: [KuboFault | null, string] = [null, '']
  let [requests, open, mostAtOnce] = [0, 0, 0]

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://kubo')
    if (url.pathname !== '/api/v0/add') return end(response, 404, '404 page not found')
    if (request.method !== 'POST') return end(response, 405, '405 - Method Not Allowed')
    if (settings.authorization !== undefined && request.headers.authorization !== settings.authorization)
      return end(response, 403, 'Kubo RPC Access Denied: Please provide a valid authorization token')
    const file = await fileIn(request)
    if (file === null) return error(response, "file argument 'path' is required")
    if (settings.answerAfterMs !== undefined) await delay(settings.answerAfterMs)
    const failing = file.content.includes(only) ? fault : null
    if (failing !== null && failing !== 'ignores options') return misbehave(response, failing)
    const cid = await cidOf(file.content, failing === null ? url.searchParams : new URLSearchParams())
    if (url.searchParams.get('pin') !== 'false') pinned.set(cid, file.content)
    response.writeHead(200, { 'content-type': 'application/json', trailer: 'X-Stream-Error', 'x-chunked-output': '1' })
    response.write(`${JSON.stringify({ Name: file.name, Hash: cid, Size: String(file.content.length) })}\n`)
    response.end()
  }

  const server = createServer((request, response) => {
    requests += 1
    open += 1
    mostAtOnce = Math.max(mostAtOnce, open)
    response.on('close', () => {
      open -= 1
    })
    answer(request, response).catch(() => response.destroy())
  })
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(stop)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pinned,
    requests: () => requests,
    mostAtOnce: () => mostAtOnce,
    fail: (next, content = '') => {
      fault = next
      only = content
    },
    stop,
  }
}

/** The CID as `ipfs add` computes it: leaves are raw from version 1 on, unless specified otherwise. */
async function cidOf(content: Buffer, options: URLSearchParams): Promise<string> {
  const cidVersion = options.get('cid-version') === '1' ? 1 : 0
  const rawLeaves = (options.get('raw-leaves') ?? String(cidVersion === 1)) === 'true'
  const hash = options.get('hash') ?? 'sha2-256'
  const [, chunkSize] = /^size-(\d+)$/.exec(options.get('chunker') ?? 'size-262144') ?? []
  if (hash !== 'sha2-256' || chunkSize === undefined) throw new Error('this server cuts by size and hashes by SHA-256')
  const blockstore = { put: async (cid: unknown) => cid } as unknown as Parameters<typeof importBytes>[1]
  const chunker = fixedSize({ chunkSize: Number(chunkSize) })
  const { cid } = await importBytes(content, blockstore, { cidVersion, rawLeaves, chunker })
  return cid.toString()
}

async function fileIn(request: IncomingMessage): Promise<{ name: string; content: Buffer } | null> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const headers = { 'content-type': request.headers['content-type'] ?? '' }
  const form = await new Response(Buffer.concat(chunks), { headers }).formData().catch(() => new FormData())
  const [file] = form.getAll('file').filter((entry) => typeof entry !== 'string')
  return file === undefined ? null : { name: file.name, content: Buffer.from(await file.arrayBuffer()) }
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text)
}

function error(response: ServerResponse, message: string): void {
  response.writeHead(500, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify({ Message: message, Code: 0, Type: 'error' })}\n`)
}

/** A hanging node sends no response. */
function misbehave(response: ServerResponse, fault: Exclude<KuboFault, 'ignores options'>): void {
  if (fault === 'errors') error(response, 'blockstore: disk quota exceeded')
  else if (fault === 'bad gateway') end(response, 502, '<html><h1>502 Bad Gateway</h1></html>')
  else if (fault === 'says nothing') end(response, 200, '')
  else if (fault === 'redirects') response.writeHead(307, { location: 'http://127.0.0.1:9/api/v0/add' }).end()
  else if (fault === 'breaks off') {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"Name":"metadata.json",')
    setImmediate(() => response.destroy())
  } else if (fault === 'talks without end') {
    response.writeHead(200, { 'content-type': 'application/json' })
    talk(response)
  }
}

function talk(response: ServerResponse): void {
  if (response.destroyed) return
  response.write('x'.repeat(8_192))
  setImmediate(() => talk(response))
}
