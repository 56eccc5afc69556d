/**
 * The client of a running service, as careful users write it: any method, header and bytes, for any tenant. It repeats
 * unanswered requests with the same Idempotency-Key, reads a resource until its state is final, and counts every
 * response, so that a test can check which ones never occur.
 */
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { HANGS_AFTER_MS } from './within.ts'

/** Loosely typed JSON, for tests. */
export type ReplyBody = {
  /** `not JSON` if the service answered something else, which is then the message. */
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
  /** Where it was asked. */
  readonly path: string
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: ReplyBody
  readonly text: string
}

export type ApiRequest = {
  /** Default is GET. */
  readonly method?: string
  readonly path: string
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  readonly key?: string
  readonly prefer?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Client = {
  /** One try. @throws Error without a complete response */
  readonly once: (request: ApiRequest) => Promise<Reply>
  readonly get: (path: string) => Promise<Reply>
  readonly post: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Reply>
  readonly patch: (path: string, body: unknown) => Promise<Reply>
  readonly remove: (path: string) => Promise<Reply>
  /**
   * Retries until the service accepts or refuses: a lost connection, 429 and 5xx are neither. A POST without a key gets
   * a new one.
   */
  readonly insist: (request: ApiRequest) => Promise<Reply>
  /** POSTs without waiting for the outcome: insists with `respond-async`. @param key default is a new one */
  readonly send: (path: string, body?: unknown, key?: string) => Promise<Reply>
  /** Reads a resource until it is wanted. @throws Error when the read is refused, or naming what it read last */
  readonly until: <T = ReplyBody['data']>(path: string, wanted: (data: T) => boolean) => Promise<T>
  /** Reads the resource at a path, or that of an accepted request, until its status is final. */
  readonly settle: (place: string | Reply) => Promise<ReplyBody['data']>
  /** How often each response occurred: `202`, `503 rpc_unavailable`, `200 not JSON`, `ECONNREFUSED`. */
  readonly counts: Map<string, number>
}

/** Maximum concurrent requests. */
const MAX_SOCKETS = 256
/** A connection to a hanging process is closed after this time. */
const TRY_TIMEOUT_MS = 45_000
const PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000
const LOOK_MS = 50
const NOT_FINAL = /^(pending|requested|deploying)$/i

/**
 * @param apiKey omitted: no Authorization header
 * @param timeoutMs of a try
 */
export function createClient(baseUrl: string, apiKey?: string, timeoutMs: number = TRY_TIMEOUT_MS): Client {
  const url = new URL(baseUrl)
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS })
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

  function send({ method = 'GET', path, ...request }: ApiRequest): Promise<Reply> {
    const payload = payloadOf(request)
    const headers = headersOf(request, payload, apiKey)
    return new Promise((resolve, reject) => {
      const asking = http.request(url, { agent, method, path, headers, timeout: timeoutMs }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({ path, status: response.statusCode ?? 0, headers: response.headers, body: asBody(text), text })
        })
      })
      asking.on('timeout', () => asking.destroy(new Error('no response in time')))
      asking.on('error', reject)
      asking.end(payload)
    })
  }

  async function once(request: ApiRequest): Promise<Reply> {
    try {
      const reply = await send(request)
      count(outcomeOf(reply))
      return reply
    } catch (error) {
      count((error as NodeJS.ErrnoException).code ?? (error as Error).message)
      throw error
    }
  }

  async function insist(request: ApiRequest): Promise<Reply> {
    const asked = request.method === 'POST' ? { key: randomUUID(), ...request } : request
    const deadline = Date.now() + HANGS_AFTER_MS
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const reply = await once(asked).catch((error: Error) => error)
      if (!(reply instanceof Error) && reply.status !== 429 && reply.status < 500) return reply
      if (Date.now() > deadline)
        throw new Error(`${request.method ?? 'GET'} ${request.path} was never answered`, { cause: reply })
      await sleep(pauseMs)
    }
  }

  async function until<T>(path: string, wanted: (data: T) => boolean): Promise<T> {
    const deadline = Date.now() + HANGS_AFTER_MS
    for (;;) {
      const reply = await insist({ path })
      const data = accepted<T>(reply)
      if (wanted(data)) return data
      if (Date.now() > deadline) throw new Error(`${path} never became what was awaited: ${reply.text}`)
      await sleep(LOOK_MS)
    }
  }

  return {
    once,
    get: (path) => once({ path }),
    post: (path, body, headers = {}) => once({ method: 'POST', path, body, headers }),
    patch: (path, body) => once({ method: 'PATCH', path, body }),
    remove: (path) => once({ method: 'DELETE', path }),
    insist,
    send: (path, body, key = randomUUID()) => insist({ method: 'POST', path, body, key, prefer: 'respond-async' }),
    until,
    settle: (place) => until(typeof place === 'string' ? place : placeOf(place), isFinal),
    counts,
  }
}

function payloadOf({ body }: Pick<ApiRequest, 'body'>): string | Buffer | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}

function headersOf(
  { key, prefer, headers }: Omit<ApiRequest, 'method' | 'path'>,
  payload: string | Buffer | undefined,
  apiKey: string | undefined,
): Record<string, string> {
  return {
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
    ...(prefer === undefined ? {} : { prefer }),
    ...headers,
  }
}

function asBody(text: string): ReplyBody {
  try {
    return JSON.parse(text) as ReplyBody
  } catch {
    return { status: 'not JSON', message: text }
  }
}

function outcomeOf({ status, body }: Reply): string {
  const what = body.errors?.[0]?.code ?? (body.status === 'not JSON' ? body.status : undefined)
  return what === undefined ? String(status) : `${status} ${what}`
}

/** The data of an accepted request. @throws Error with the whole response when it was refused */
export function accepted<T = ReplyBody['data']>({ path, status, body, text }: Reply): T {
  if (status < 200 || status > 299) throw new Error(`${path} was answered ${status} ${text}`)
  return body.data as T
}

/** Where the resource of an accepted request is read. */
function placeOf(reply: Reply): string {
  const { transaction_id, collection_id, wallet_id } = accepted(reply)
  const [wallet] = /^\/v1\/wallets\/wal_[^/]+/.exec(reply.path) ?? []
  if (wallet !== undefined && transaction_id !== undefined) return `${wallet}/transactions/${transaction_id}`
  if (collection_id !== undefined) return `/v1/nft/collections/${collection_id}`
  if (wallet_id !== undefined) return `/v1/wallets/${wallet_id}`
  throw new Error(`${reply.path} was answered without the id of what it makes: ${reply.text}`)
}

function isFinal({ status }: ReplyBody['data']): boolean {
  return !NOT_FINAL.test(status)
}

/** The problems as `field code` lines, or `- code` without a field. */
export function told({ body }: { readonly body: Pick<ReplyBody, 'errors'> }): string[] {
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
