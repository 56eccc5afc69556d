/**
 * One JSON-RPC server over HTTP with keep-alive connections. A post returns either the body of a response or the reason
 * why there is none; it never throws and never exceeds its time limit.
 *
 * Uses node:http because global fetch costs two to three times the CPU per request (measured against anvil).
 */
import http from 'node:http'
import https from 'node:https'
import { type RpcFailure, unavailable } from './json-rpc.ts'

/** Enough for a follower, a submitter and the reads of many requests; more would only queue in the node. */
const MAX_SOCKETS = 32

/**
 * Shorter than the idle limit of common servers (5 s and up), so that a connection is rarely closed during a request.
 */
const IDLE_SOCKET_MS = 4_000

/** When a server closes the connection during a body of at least this size, the body counts as too large. */
const LARGE_BODY_BYTES = 32_768
const CUTS: ReadonlySet<string> = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_WRITE_AFTER_END'])

/** A block of 5,000 transfers with receipts is about 10 MB. */
const MAX_RESPONSE_BYTES = 128 * 1024 * 1024

export type TransportReply =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly error: RpcFailure; readonly retryAfterMs: number }

export type HttpTransport = {
  readonly post: (body: string) => Promise<TransportReply>
  readonly close: () => void
}

export type TransportOptions = {
  readonly url: string
  /** For a whole exchange, including the connection. */
  readonly timeoutMs: number
  readonly maxResponseBytes?: number | undefined
}

export function createHttpTransport(options: TransportOptions): HttpTransport {
  const url = new URL(options.url)
  const secure = url.protocol === 'https:'
  const settings = { keepAlive: true, keepAliveMsecs: 1_000, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS }
  const agent = secure ? new https.Agent(settings) : new http.Agent(settings)
  const send = secure ? https.request : http.request
  const maxBytes = options.maxResponseBytes ?? MAX_RESPONSE_BYTES
  let closed = false

  function attempt(body: string, signal: AbortSignal, fresh: boolean): Promise<TransportReply> {
    return new Promise((resolve) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const request = send(url, { agent: fresh ? false : agent, method: 'POST', headers, signal }, (response) => {
        readReply(response, maxBytes, signal).then(resolve, (error: Error) => resolve(broken(error, signal)))
      })
      request.on('error', (error) => {
        // The server closed the idle connection while the request was being written: it read nothing, so send it again.
        const stale = request.reusedSocket && !fresh && !signal.aborted && !closed
        resolve(stale ? attempt(body, signal, true) : cut(error, body, signal))
      })
      request.end(body)
    })
  }

  return {
    post: async (body) => {
      const signal = AbortSignal.timeout(options.timeoutMs)
      return closed ? broken(new Error('the client is closed'), signal) : attempt(body, signal, false)
    },
    close: () => {
      closed = true
      agent.destroy()
    },
  }
}

async function readReply(
  response: http.IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<TransportReply> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) {
      response.destroy()
      return refused('too_large', `the response is larger than ${maxBytes} bytes`)
    }
    chunks.push(chunk)
  }
  if (!response.complete) return broken(new Error('the response was truncated'), signal)
  return judge(response, Buffer.concat(chunks).toString('utf8'))
}

function judge(response: http.IncomingMessage, text: string): TransportReply {
  const status = response.statusCode ?? 0
  if (status >= 200 && status < 300) return { ok: true, text }
  if (status === 429) return refused('rate_limited', 'HTTP 429', readRetryAfter(response.headers['retry-after']))
  if (status === 413) return refused('too_large', 'HTTP 413')
  // Some servers send a JSON-RPC error with HTTP 400 or 500; gateways send an HTML page with 502 to 504.
  if (status < 502 && text.includes('"jsonrpc"')) return { ok: true, text }
  return refused('http_status', `HTTP ${status}`, readRetryAfter(response.headers['retry-after']))
}

function readRetryAfter(header: string | undefined): number {
  const seconds = Number(header)
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0
}

function refused(
  reason: 'too_large' | 'rate_limited' | 'http_status',
  message: string,
  retryAfterMs = 0,
): TransportReply {
  return { ok: false, error: unavailable(reason, message), retryAfterMs }
}

/** The connection broke while a large body was written: the same requests may succeed in smaller batches. */
function cut(error: Error, body: string, signal: AbortSignal): TransportReply {
  const { code = '' } = error as NodeJS.ErrnoException
  const isTooLarge = !signal.aborted && CUTS.has(code) && body.length >= LARGE_BODY_BYTES
  return isTooLarge
    ? refused('too_large', `${code} while sending a body of ${body.length} bytes`)
    : broken(error, signal)
}

function broken(error: Error, signal: AbortSignal): TransportReply {
  const failure = signal.aborted
    ? unavailable('timeout', 'no response in time')
    : unavailable('network', (error as NodeJS.ErrnoException).code ?? error.message)
  return { ok: false, error: failure, retryAfterMs: 0 }
}
