/** Sends one delivery over HTTP and says what became of it. Never throws: whatever a receiver does is an outcome. */
import http from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { AddressRefused, type Agents } from './connect-safely.ts'
import type { SignedHeaders } from './signature.ts'

/** From the look-up of the name to the last byte that is read. */
const TIMEOUT_MS = 15_000
/** Bytes of a response, and characters of an error, that are kept, to show them to the endpoint's owner. The rest is not read. */
const KEPT_BYTES = 1_024

/**
 * `gone`: 410, the receiver wants nothing more. `refused`: the endpoint's address is not public. `failed`: anything else
 * that is not 2xx; a redirect is not followed.
 */
export type PostOutcome = 'delivered' | 'gone' | 'refused' | 'failed'

export type Posted = {
  readonly outcome: PostOutcome
  /** HTTP status; `null` without a response. */
  readonly status: number | null
  /** Why there is no response; `null` with one. */
  readonly error: string | null
  /** The beginning of the response. */
  readonly response: string
  readonly durationMs: number
  /** What the receiver asked for (RFC 9110, Retry-After); `null` for nothing. */
  readonly retryAfterMs: number | null
}

export type Post = (url: string, headers: SignedHeaders, body: string) => Promise<Posted>

export function createPost(settings: {
  readonly agents: Agents
  readonly userAgent: string
  readonly timeoutMs?: number
}): Post {
  const { agents, userAgent, timeoutMs = TIMEOUT_MS } = settings
  return async (url, headers, body) => {
    const startedAt = performance.now()
    const durationMs = () => Math.round(performance.now() - startedAt)
    const all = {
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': userAgent,
    }
    try {
      const { status, retryAfter, text } = await request({ url, agents, startedAt, timeoutMs, headers: all, body })
      const retryAfterMs = readRetryAfter(retryAfter)
      return { outcome: outcomeOf(status), status, error: null, response: text, durationMs: durationMs(), retryAfterMs }
    } catch (error) {
      const outcome = error instanceof AddressRefused ? 'refused' : 'failed'
      const reason = shown(reasonOf(error))
      return { outcome, status: null, error: reason, response: '', durationMs: durationMs(), retryAfterMs: null }
    }
  }
}

type Request = {
  readonly url: string
  readonly agents: Agents
  /** By the clock of the process. What is sent again, on another connection, gets no more time. */
  readonly startedAt: number
  readonly timeoutMs: number
  readonly headers: http.OutgoingHttpHeaders
  readonly body: string
}

type Response = { readonly status: number; readonly retryAfter: string | undefined; readonly text: string }

/** Events instead of streams and signals that are awaited: these took more CPU than all the rest of a delivery. */
function request(asked: Request): Promise<Response> {
  const { url, agents, startedAt, timeoutMs, headers, body } = asked
  const target = new URL(url)
  const isEncrypted = target.protocol === 'https:'
  const options = {
    ...urlToHttpOptions(target),
    method: 'POST',
    agent: isEncrypted ? agents.https : agents.http,
    headers,
  }
  return new Promise((resolve, reject) => {
    const sent = isEncrypted ? https.request(options) : http.request(options)
    let end = () => void sent.destroy(new Error(`no response within ${timeoutMs / 1_000} s`))
    const timer = setTimeout(() => end(), startedAt + timeoutMs - performance.now())
    sent.once('response', (response) => {
      end = () => void response.destroy()
      readBeginning(response, (text) => {
        clearTimeout(timer)
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], text })
      })
    })
    // 101 hands over the connection.
    sent.once('upgrade', ({ statusCode = 0 }, socket) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ status: statusCode, retryAfter: undefined, text: '' })
    })
    sent.on('error', (error) => {
      clearTimeout(timer)
      // The receiver closed a connection that was kept: that says nothing of this request.
      if (sent.reusedSocket && isReset(error)) resolve(request(asked))
      else reject(error)
    })
    sent.end(body)
  })
}

/** A response that breaks off, or goes on for ever, has said its status before. */
function readBeginning(response: http.IncomingMessage, done: (text: string) => void): void {
  const kept: Buffer[] = []
  let length = 0
  response.on('data', (chunk: Buffer) => {
    kept.push(chunk)
    length += chunk.length
    if (length >= KEPT_BYTES) response.destroy()
  })
  response.on('error', () => undefined)
  response.once('close', () => done(shown(Buffer.concat(kept).subarray(0, KEPT_BYTES).toString('utf8'))))
}

/** A receiver chooses its text, and PostgreSQL has no text with the character 0. */
function shown(text: string): string {
  return text.slice(0, KEPT_BYTES).replaceAll('\0', '\uFFFD')
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
}

function outcomeOf(status: number): PostOutcome {
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'gone' : 'failed'
}

/** 408, 425 and 429 say "later": the receiver may take nothing now. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether a receiver that works has answered that it does not take this delivery: it may take others. */
export function isRefusal({ outcome, status }: Pick<Posted, 'outcome' | 'status'>): boolean {
  return outcome === 'failed' && status !== null && status < 500 && !LATER.has(status)
}

function readRetryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // With several addresses, the error has one for each and no message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error.message
}
