/**
 * One POST over HTTP with kept connections, within a time and a size.
 *
 * Uses node:http because global fetch costs two to three times the CPU per request (measured against anvil), and events
 * because streams and signals that are awaited cost more than all the rest of a small request.
 */
import http from 'node:http'
import https from 'node:https'

export type Asked = {
  readonly url: URL
  readonly agent: http.Agent
  /**
   * For sending again when a kept connection broke before the response: the server may have closed it while the request
   * was being written. `false`: a new connection that is not kept.
   */
  readonly againThrough: http.Agent | false
  /** Whether this error of a kept connection is a reason to send again. */
  readonly isStale: (error: Error) => boolean
  readonly headers: http.OutgoingHttpHeaders
  readonly body: string
  /** For the whole exchange, from the look-up of the name on. What is sent again gets no more time. */
  readonly timeoutMs: number
  /** Once so many bytes of the response have come, the rest is not read. */
  readonly enoughBytes: number
}

export type Answer = {
  /** Of a redirect, too: it is not followed. */
  readonly status: number
  /** What the server asked for (RFC 9110, Retry-After); `null` for nothing. */
  readonly retryAfterMs: number | null
  readonly body: Buffer
  /** `enough`: the rest was not read. `late`: the rest did not come in time. `cut`: the connection broke. */
  readonly end: 'complete' | 'enough' | 'late' | 'cut'
  /** Why the connection broke, if that is known. */
  readonly error: Error | null
}

/** No response in time. */
export class NoResponse extends Error {}

/**
 * @returns the response, however it ended
 * @throws NoResponse
 * @throws the error of the connection, when there is no response
 */
export function post(asked: Asked): Promise<Answer> {
  return send(asked, asked.agent, performance.now() + asked.timeoutMs)
}

function send(asked: Asked, agent: http.Agent | false, endsAt: number): Promise<Answer> {
  const { url, headers, timeoutMs } = asked
  const options = { agent, method: 'POST', headers }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? https.request(url, options) : http.request(url, options)
    let end = () => void request.destroy(new NoResponse(`no response within ${timeoutMs / 1_000} s`))
    const timer = setTimeout(() => end(), endsAt - performance.now())
    request.once('response', (response) => {
      let isLate = false
      end = () => {
        isLate = true
        response.destroy()
      }
      readResponse(response, asked.enoughBytes, (answer) => {
        clearTimeout(timer)
        resolve(isLate ? { ...answer, end: 'late' } : answer)
      })
    })
    // 101 hands over the connection.
    request.once('upgrade', ({ statusCode = 0 }, socket) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ status: statusCode, retryAfterMs: null, body: Buffer.alloc(0), end: 'complete', error: null })
    })
    request.on('error', (error) => {
      clearTimeout(timer)
      const isStale = request.reusedSocket && !(error instanceof NoResponse) && asked.isStale(error)
      if (isStale) resolve(send(asked, asked.againThrough, endsAt))
      else reject(error)
    })
    request.end(asked.body)
  })
}

function readResponse(response: http.IncomingMessage, enoughBytes: number, done: (answer: Answer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let error: Error | null = null
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= enoughBytes) response.destroy()
  })
  response.on('error', (broken) => {
    error = broken
  })
  response.once('close', () => {
    const end = bytes >= enoughBytes ? 'enough' : response.complete ? 'complete' : 'cut'
    const retryAfterMs = readRetryAfter(response.headers['retry-after'])
    done({ status: response.statusCode ?? 0, retryAfterMs, body: Buffer.concat(chunks), end, error })
  })
}

/** Seconds, which some servers write with a fraction, or a date. */
function readRetryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}(?:\.\d+)?$/.test(header)) return Number(header) * 1_000
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}
