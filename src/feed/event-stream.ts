/**
 * An event stream (Server-Sent Events, WHATWG HTML § 9.2) for one reader. A heartbeat carries the position that was
 * read, so that a client whose filter matches nothing continues there, and nothing is scanned twice.
 */
import { pause } from '../event-log/lead.ts'
import { frameOf, shownTo } from './feed-event.ts'
import type { Reader } from './reader.ts'

/** Short enough for the idle timeouts of proxies. */
const HEARTBEAT_MS = 15_000
/** A client that has read nothing for this long is gone, or too slow. */
const STALL_MS = 60_000
/** Events for one write. */
const BATCH = 100
/** A database that does not answer is asked again after this time. */
const RETRY_MS = 1_000
/** Clients reconnect this soon to another process. Jitter is theirs. */
const RECONNECT = 'retry: 1000\n\n'

export type StreamTimes = { readonly heartbeatMs: number; readonly stallMs: number }
const STREAM_TIMES: StreamTimes = { heartbeatMs: HEARTBEAT_MS, stallMs: STALL_MS }

export type StreamPorts = {
  readonly reader: Reader
  readonly scopes: ReadonlySet<string>
  /** Asked at each heartbeat: false ends the stream. An error does not: without a database there are no new events. */
  readonly isKeyValid: () => Promise<boolean>
  /** The client has left. */
  readonly gone: AbortSignal
  /** The process shuts down: the client is told to reconnect. */
  readonly draining: AbortSignal
  /** Called when the database does not answer. The stream stays, and tries again. */
  readonly onError: (error: unknown) => void
  /** Called when the client does not read. */
  readonly onStall: () => void
  readonly times?: StreamTimes
}

/** Ends when the client leaves, the key is no longer valid, or the process shuts down. */
export async function* eventStream(ports: StreamPorts): AsyncGenerator<string> {
  const { reader, scopes, gone, draining } = ports
  const { heartbeatMs } = ports.times ?? STREAM_TIMES
  const over = AbortSignal.any([gone, draining, reader.moved])
  const watched = watchStalls(ports)
  try {
    // The headers are sent with the first bytes.
    yield* watched(': connected\n\n')
    let beatAt = performance.now() + heartbeatMs
    while (!over.aborted) {
      const events = await orNull(ports, () => reader.next(BATCH))
      if (events === null) await pause(RETRY_MS, over)
      else {
        if (events.length > 0) yield* watched(events.map((event) => frameOf(shownTo(scopes, event))).join(''))
        if (reader.isAtEnd()) await reader.wait(beatAt - performance.now(), over)
      }
      if (performance.now() < beatAt) continue
      if ((await orNull(ports, ports.isKeyValid)) === false) return
      yield* watched(heartbeatOf(reader.position()))
      beatAt = performance.now() + heartbeatMs
    }
    if (!gone.aborted) yield* watched(RECONNECT)
  } finally {
    reader.close()
  }
}

/** Null while the database does not answer: the stream stays, and the heartbeats with it. */
async function orNull<Value>({ onError }: StreamPorts, read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read()
  } catch (error) {
    onError(error)
    return null
  }
}

/** A block without data is no event for the client, but moves its Last-Event-ID. */
function heartbeatOf(position: string | null): string {
  return position === null ? ': heartbeat\n\n' : `id: ${position}\n\n`
}

/** Yields a chunk; a client that does not take it in time is given up. */
function watchStalls({ onStall, times = STREAM_TIMES }: StreamPorts) {
  return function* watched(chunk: string): Generator<string> {
    const timer = setTimeout(onStall, times.stallMs)
    try {
      yield chunk
    } finally {
      clearTimeout(timer)
    }
  }
}
