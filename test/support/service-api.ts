/**
 * A client as careful users write it: it repeats unanswered requests with the same Idempotency-Key until it has an
 * answer. It counts every response, so that a test can check which ones never occur.
 */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { HANGS_AFTER_MS } from './within.ts'

/** Loosely typed JSON, for tests. */
export type ReplyBody = {
  readonly status: string
  readonly message?: string
  readonly errors?: readonly {
    readonly type: string
    readonly message: string
    readonly code?: string
    readonly field?: string
  }[]
  readonly request_id?: string
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the resource that it asked for.
  readonly data?: any
}

export type Reply = {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: ReplyBody
}

export type ApiRequest = {
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'PATCH' | 'PUT'
  readonly path: string
  readonly body?: unknown
  readonly key?: string
  readonly prefer?: string
}

export type ApiClient = {
  /** One try. @throws Error without a complete response */
  readonly once: (request: ApiRequest) => Promise<Reply>
  /** Retries until the service accepts or refuses: a lost connection, 429 and 5xx are neither. */
  readonly insist: (request: ApiRequest) => Promise<Reply>
  /** How often each response occurred: `202`, `503 rpc_unavailable`, `ECONNREFUSED`. */
  readonly counts: Map<string, number>
}

const MAX_SOCKETS = 128
/** A connection to a hanging process is closed after this time. */
const TRY_TIMEOUT_MS = 45_000
const PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000

export function createApiClient({ baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string }): ApiClient {
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

  function send({ method = 'GET', path, body, key, prefer }: ApiRequest): Promise<Reply> {
    const text = body === undefined ? null : JSON.stringify(body)
    const headers: Record<string, string> = { authorization: `Bearer ${apiKey}` }
    if (text !== null) headers['content-type'] = 'application/json'
    if (key !== undefined) headers['idempotency-key'] = key
    if (prefer !== undefined) headers.prefer = prefer
    return new Promise((resolve, reject) => {
      const request = http.request(
        `${baseUrl}${path}`,
        { method, headers, agent, timeout: TRY_TIMEOUT_MS },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            try {
              const parsed = JSON.parse(Buffer.concat(chunks).toString('utf8')) as ReplyBody
              resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed })
            } catch (error) {
              reject(error as Error)
            }
          })
        },
      )
      request.on('timeout', () => request.destroy(new Error('no response in time')))
      request.on('error', reject)
      request.end(text ?? undefined)
    })
  }

  async function once(request: ApiRequest): Promise<Reply> {
    try {
      const reply = await send(request)
      const code = reply.body.errors?.[0]?.code
      count(code === undefined ? String(reply.status) : `${reply.status} ${code}`)
      return reply
    } catch (error) {
      count((error as NodeJS.ErrnoException).code ?? (error as Error).message)
      throw error
    }
  }

  async function insist(request: ApiRequest): Promise<Reply> {
    const deadline = Date.now() + HANGS_AFTER_MS
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const reply = await once(request).catch((error: Error) => error)
      if (!(reply instanceof Error) && reply.status !== 429 && reply.status < 500) return reply
      if (Date.now() > deadline)
        throw new Error(`${request.method ?? 'GET'} ${request.path} was never answered`, { cause: reply })
      await sleep(pauseMs)
    }
  }

  return { once, insist, counts }
}
