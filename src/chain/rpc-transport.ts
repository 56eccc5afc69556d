/**
 * One JSON-RPC server over HTTP with keep-alive connections. A post returns either the body of a response or the reason
 * why there is none; it never throws and never exceeds its time limit.
 */
import http from 'node:http'
import https from 'node:https'
import { type Answer, NoResponse, post } from './http-post.ts'
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

export function createHttpTransport(options: {
  readonly url: string
  /** For a whole exchange, including the connection. */
  readonly timeoutMs: number
  readonly maxResponseBytes?: number | undefined
}): HttpTransport {
  const { timeoutMs, maxResponseBytes = MAX_RESPONSE_BYTES } = options
  const url = new URL(options.url)
  const settings = { keepAlive: true, keepAliveMsecs: 1_000, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS }
  const agent = url.protocol === 'https:' ? new https.Agent(settings) : new http.Agent(settings)
  let closed = false

  return {
    async post(body) {
      if (closed) return broken(new Error('the client is closed'))
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const isStale = () => !closed
      const enoughBytes = maxResponseBytes + 1
      try {
        return judge(
          await post({ url, agent, againThrough: false, isStale, headers, body, timeoutMs, enoughBytes }),
          enoughBytes,
        )
      } catch (error) {
        return cut(error as Error, body)
      }
    },
    close: () => {
      closed = true
      agent.destroy()
    },
  }
}

function judge({ status, retryAfterMs, body, end, error }: Answer, enoughBytes: number): TransportReply {
  if (end === 'enough') return refused('too_large', `the response is larger than ${enoughBytes - 1} bytes`)
  if (end === 'late') return broken(new NoResponse())
  if (end === 'cut') return broken(error ?? new Error('the response was truncated'))
  const text = body.toString('utf8')
  if (status >= 200 && status < 300) return { ok: true, text }
  if (status === 429) return refused('rate_limited', 'HTTP 429', retryAfterMs ?? 0)
  if (status === 413) return refused('too_large', 'HTTP 413')
  // Some servers send a JSON-RPC error with HTTP 400 or 500; gateways send an HTML page with 502 to 504.
  if (status < 502 && text.includes('"jsonrpc"')) return { ok: true, text }
  return refused('http_status', `HTTP ${status}`, retryAfterMs ?? 0)
}

function refused(
  reason: 'too_large' | 'rate_limited' | 'http_status',
  message: string,
  retryAfterMs = 0,
): TransportReply {
  return { ok: false, error: unavailable(reason, message), retryAfterMs }
}

/** The connection broke while a large body was written: the same requests may succeed in smaller batches. */
function cut(error: Error, body: string): TransportReply {
  const { code = '' } = error as NodeJS.ErrnoException
  const isTooLarge = CUTS.has(code) && body.length >= LARGE_BODY_BYTES
  return isTooLarge ? refused('too_large', `${code} while sending a body of ${body.length} bytes`) : broken(error)
}

function broken(error: Error): TransportReply {
  const failure =
    error instanceof NoResponse
      ? unavailable('timeout', 'no response in time')
      : unavailable('network', (error as NodeJS.ErrnoException).code ?? error.message)
  return { ok: false, error: failure, retryAfterMs: 0 }
}
