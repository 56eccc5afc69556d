/**
 * One authenticated connection. It is live after the other side sent hello, when both sides have authenticated each
 * other. It ends automatically when the other side is silent, violates the protocol, or does not read.
 */
import type { TLSSocket } from 'node:tls'
import { Unavailable } from '../../../core/errors.ts'
import type { Authenticated } from './authenticate.ts'
import { createFrameReader, type FrameType, frameHeader, MAX_FRAME_BYTES } from './frames.ts'

/** Intervals without any received data after which a peer counts as dead. */
const MAX_SILENT_INTERVALS = 5
/** Limit of unsent data, hundreds of messages: a peer this far behind has stopped reading. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

export type Connection = {
  readonly peer: Authenticated
  /** Intervals since data was last received. */
  readonly silentIntervals: () => number
  /**
   * @throws Unavailable `mpc_peer_unreachable` when it has ended or is not live yet
   * @throws RangeError for a frame that is too long
   */
  readonly send: (frame: Uint8Array) => void
  /** Ends it immediately; unsent data is lost. */
  readonly cut: (reason: string) => void
  /** Ends it after the pending data was sent. */
  readonly end: () => void
}

/** Takes over an authenticated socket and sends hello. */
export function openConnection({
  socket,
  peer,
  keepaliveMs,
  onLive,
  onFrame,
  onEnd,
}: {
  readonly socket: TLSSocket
  readonly peer: Authenticated
  /** Milliseconds between pings. */
  readonly keepaliveMs: number
  readonly onLive: (connection: Connection) => void
  readonly onFrame: (frame: Uint8Array) => void
  /** Called once. `error` is the socket's error, if any. */
  readonly onEnd: (connection: Connection, reason: string, error?: Error) => void
}): Connection {
  let state: 'greeting' | 'live' | 'ended' = 'greeting'
  let heard = false
  let silent = 0
  let corked = false

  /** Data written in one turn is sent in as few TLS records and system calls as possible. */
  function write(type: FrameType, payload?: Uint8Array): void {
    if (!corked) {
      corked = true
      socket.cork()
      process.nextTick(() => {
        corked = false
        socket.uncork()
      })
    }
    socket.write(frameHeader(type, payload?.length))
    if (payload !== undefined && payload.length > 0) socket.write(payload)
  }

  function finish(reason: string, error?: Error): void {
    if (state === 'ended') return
    state = 'ended'
    clearInterval(timer)
    socket.destroy()
    onEnd(connection, reason, error)
  }

  function take(type: FrameType, payload: Uint8Array): void {
    // A chunk may hold frames after the one for which the connection was cut.
    if (state === 'ended') return
    heard = true
    if ((type === 'hello') !== (state === 'greeting')) {
      finish('broke_the_protocol')
    } else if (type === 'hello') {
      state = 'live'
      onLive(connection)
    } else if (type === 'data') {
      onFrame(payload)
    } else if (type === 'ping') {
      write('pong')
    }
  }

  // Counts intervals, not time: a process that was busy for long reads before it counts the next one.
  const timer = setInterval(() => {
    silent = heard ? 0 : silent + 1
    heard = false
    if (silent >= MAX_SILENT_INTERVALS) finish('silent')
    else if (state === 'live') write('ping')
  }, keepaliveMs)

  const connection: Connection = {
    peer,
    silentIntervals: () => silent,
    send(frame) {
      if (frame.length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${frame.length} bytes is too long`)
      if (state === 'live' && socket.writableLength + frame.length > MAX_UNREAD_BYTES) finish('does_not_read')
      if (state !== 'live') throw unreachable(peer.name)
      write('data', frame)
    },
    cut: (reason) => finish(reason),
    end: () => socket.end(),
  }

  const read = createFrameReader(take)
  socket.setNoDelay(true)
  socket.on('error', (error) => finish('connection_failed', error))
  socket.on('close', () => finish('closed'))
  socket.on('data', (piece: Buffer) => {
    if (state === 'ended') return
    try {
      read(piece)
    } catch (error) {
      finish('broke_the_protocol', error instanceof Error ? error : undefined)
    }
  })
  write('hello')
  return connection
}

/** There is no live connection to a peer: nothing was sent. */
export function unreachable(peer: string): Unavailable {
  return new Unavailable(
    'mpc_peer_unreachable',
    `There is no connection to ${peer}. This process keeps trying to connect.`,
  )
}
