/** A client of the running service for end-to-end tests: any method, header and bytes, for any tenant. */
import http from 'node:http'
import net from 'node:net'
import type { ReplyBody } from './service-api.ts'

export type E2eReply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: ReplyBody
  readonly text: string
}

export type Sent = {
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type Client = {
  readonly call: (method: string, path: string, sent?: Sent) => Promise<E2eReply>
  readonly get: (path: string) => Promise<E2eReply>
  readonly post: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<E2eReply>
  readonly patch: (path: string, body: unknown) => Promise<E2eReply>
  readonly remove: (path: string) => Promise<E2eReply>
}

/** Maximum concurrent requests. */
const MAX_SOCKETS = 256

/** @param apiKey omitted: no Authorization header */
export function createClient(baseUrl: string, apiKey?: string): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })

  function call(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<E2eReply> {
    const payload =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const all = {
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(baseUrl), { agent, method, path, headers: all }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: asBody(text), text })
        })
      })
      request.on('error', reject)
      request.end(payload)
    })
  }

  return {
    call,
    get: (path) => call('GET', path),
    post: (path, body, headers = {}) => call('POST', path, { body, headers }),
    patch: (path, body) => call('PATCH', path, { body }),
    remove: (path) => call('DELETE', path),
  }
}

function asBody(text: string): ReplyBody {
  try {
    return JSON.parse(text) as ReplyBody
  } catch {
    return { status: 'not JSON', message: text }
  }
}

/** The problems as `field code` lines, or `- code` without a field. */
export function told({ body }: E2eReply): string[] {
  return (body.errors ?? []).map(({ field = '-', code = '-' }) => `${field} ${code}`)
}

/** Sends bytes that no HTTP client would send and returns the whole response until the connection closes. */
export function sendBytes(baseUrl: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () => socket.write(bytes, 'latin1'))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1')
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
