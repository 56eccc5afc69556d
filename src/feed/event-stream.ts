/**
 * An event stream (Server-Sent Events, WHATWG HTML § 9.2) for one reader. A heartbeat carries the position that was
 * read, so that a client whose filter matches nothing continues there, and nothing is scanned twice.
 *
 * Events in the memory of the process are written without a wait of their own: with hundreds of clients, promises and
 * timers for each event would cost more than the write. Invariant: one thing is written at a time, in the order in which
 * the reader moves on, and only while the client reads.
 */
import { setMaxListeners } from 'node:events'
import type { Readable } from 'node:stream'
import { pause } from '../event-log/lead.ts'
import { type FeedEvent, joinFrames } from './feed-event.ts'
import { createPacedOutput, type PacedOutput } from './paced-output.ts'
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

type Streaming = {
  readonly scopes: ReadonlySet<string>
  /** Asked at each heartbeat: false ends the stream. An error does not: without a database there are no new events. */
  readonly isKeyValid: () => Promise<boolean>
  /** The process shuts down: the client is told to reconnect. */
  readonly draining: AbortSignal
  /** Called when the database does not answer. The stream stays, and tries again. */
  readonly onError: (error: unknown) => void
  readonly out: PacedOutput
  readonly reader: Reader
  readonly beat: NodeJS.Timeout
  readonly closed: AbortController
  /** Something is awaited, and nothing else moves the reader. */
  isBusy: boolean
  mayHaveNews: boolean
  isBeatDue: boolean
}

/** Ends when it is destroyed, the key is no longer valid, or the process shuts down. */
export function eventStream({
  openReader,
  onStall,
  times = STREAM_TIMES,
  ...asked
}: Pick<Streaming, 'scopes' | 'isKeyValid' | 'draining' | 'onError'> & {
  /** @param onNews to be called when there may be something new */
  readonly openReader: (onNews: () => void) => Reader
  /** Called when the client does not read. */
  readonly onStall: () => void
  readonly times?: StreamTimes
}): Readable {
  const { draining } = asked
  const { heartbeatMs, stallMs } = times
  const closed = new AbortController()
  const reader = openReader(() => {
    streaming.mayHaveNews = true
    proceed(streaming)
  })
  const out = createPacedOutput({ onReady: () => proceed(streaming), onStall, stallMs, onClose: () => closed.abort() })
  const beat = setTimeout(() => {
    streaming.isBeatDue = true
    proceed(streaming)
  }, heartbeatMs)
  const streaming: Streaming = {
    ...asked,
    out,
    reader,
    beat,
    closed,
    isBusy: false,
    mayHaveNews: true,
    isBeatDue: false,
  }
  const onOver = () => reconnect(streaming)
  const ends = [draining, reader.moved]
  // Each stream of the process listens.
  setMaxListeners(0, ...ends)
  for (const signal of ends) signal.addEventListener('abort', onOver)
  closed.signal.addEventListener('abort', () => {
    clearTimeout(beat)
    for (const signal of ends) signal.removeEventListener('abort', onOver)
    reader.close()
  })
  // The headers are sent with the first bytes.
  out.write(': connected\n\n')
  if (draining.aborted) onOver()
  return out.stream
}

/** Writes what there is, until the client must read first, or until something must be awaited. Never throws. */
function proceed(streaming: Streaming): void {
  const { out } = streaming
  try {
    while (out.isReady() && !streaming.isBusy && (streaming.isBeatDue || streaming.mayHaveNews)) step(streaming)
  } catch (error) {
    out.stream.destroy(error as Error)
  }
}

function step(streaming: Streaming): void {
  if (streaming.isBeatDue) return void apart(streaming, heartbeat)
  streaming.mayHaveNews = false
  const events = streaming.reader.take(BATCH)
  if (events === null) return void apart(streaming, readLog)
  writeEvents(streaming, events)
}

async function apart(streaming: Streaming, work: (streaming: Streaming) => Promise<void>): Promise<void> {
  const { draining, out, reader } = streaming
  streaming.isBusy = true
  await work(streaming).catch((error: Error) => out.stream.destroy(error))
  streaming.isBusy = false
  if (draining.aborted || reader.moved.aborted) reconnect(streaming)
  else proceed(streaming)
}

async function readLog(streaming: Streaming): Promise<void> {
  const { reader, closed } = streaming
  const owedMs = reader.owedMs()
  if (owedMs > 0) {
    streaming.mayHaveNews = true
    // Not at once all of it: heartbeats are due meanwhile.
    return pause(Math.min(owedMs, RETRY_MS), closed.signal)
  }
  const events = await orNull(streaming, () => reader.next(BATCH))
  if (events === null) {
    streaming.mayHaveNews = true
    await pause(RETRY_MS, closed.signal)
  } else if (!closed.signal.aborted) writeEvents(streaming, events)
}

/** A block without data is no event for the client, but moves its Last-Event-ID. */
async function heartbeat(streaming: Streaming): Promise<void> {
  const { isKeyValid, out, reader, beat, closed } = streaming
  const isValid = await orNull(streaming, isKeyValid)
  if (closed.signal.aborted) return
  if (isValid === false) return out.end(null)
  streaming.isBeatDue = false
  beat.refresh()
  const position = reader.position()
  out.write(position === null ? ': heartbeat\n\n' : `id: ${position}\n\n`)
}

function writeEvents(streaming: Streaming, events: readonly FeedEvent[]): void {
  const { scopes, out, reader } = streaming
  streaming.mayHaveNews ||= !reader.isAtEnd()
  if (events.length > 0) out.write(joinFrames(scopes, events))
}

/** Unless something is awaited, which then does the same. */
function reconnect({ out, isBusy, closed }: Streaming): void {
  if (!isBusy && !closed.signal.aborted) out.end(RECONNECT)
}

/** Null while the database does not answer: the stream stays, and the heartbeats with it. */
async function orNull<Value>({ onError }: Streaming, read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read()
  } catch (error) {
    onError(error)
    return null
  }
}
