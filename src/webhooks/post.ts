/** Sends one delivery over HTTP and says what became of it. Never throws: whatever a receiver does is an outcome. */
import { post as postOverHttp } from '../chain/http-post.ts'
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
  /** What the receiver asked for; `null` for nothing. */
  readonly retryAfterMs: number | null
}

/** @param ctx whose `timeoutMs` is from the look-up of the name to the last byte that is read */
export async function postDelivery(
  ctx: { readonly agents: Agents; readonly userAgent: string; readonly timeoutMs?: number },
  url: string,
  headers: SignedHeaders,
  body: string,
): Promise<Posted> {
  const { agents, userAgent, timeoutMs = TIMEOUT_MS } = ctx
  const startedAt = performance.now()
  const durationMs = () => Math.round(performance.now() - startedAt)
  const all = {
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': userAgent,
  }
  try {
    const target = new URL(url)
    const agent = target.protocol === 'https:' ? agents.https : agents.http
    const answer = await postOverHttp({
      url: target,
      agent,
      againThrough: agent,
      isStale: isReset,
      headers: all,
      body,
      timeoutMs,
      enoughBytes: KEPT_BYTES,
    })
    const { status, retryAfterMs } = answer
    // A response that breaks off, or goes on for ever, has said its status before.
    const response = shown(answer.body.subarray(0, KEPT_BYTES).toString('utf8'))
    return { outcome: outcomeOf(status), status, error: null, response, durationMs: durationMs(), retryAfterMs }
  } catch (error) {
    const outcome = error instanceof AddressRefused ? 'refused' : 'failed'
    const reason = shown(reasonOf(error))
    return { outcome, status: null, error: reason, response: '', durationMs: durationMs(), retryAfterMs: null }
  }
}

/** A receiver chooses its text, and PostgreSQL has no text with the character 0. */
function shown(text: string): string {
  return text.slice(0, KEPT_BYTES).replaceAll('\0', '\uFFFD')
}

/** The receiver closed a connection that was kept: that says nothing of this request. */
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

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // With several addresses, the error has one for each and no message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error.message
}
