/**
 * One authenticated connection. It is live once the other side has said hello, for only then do both know whom they speak to;
 * it ends by itself when the other side falls silent, breaks the protocol, or does not read what it is sent.
 */
import type { TLSSocket } from 'node:tls'
import { Unavailable } from '../../../core/errors.ts'
import type { Authenticated } from './authenticate.ts'
import { createFrameReader, type FrameType, frameHeader, MAX_FRAME_BYTES } from './frames.ts'

/** After so many intervals in which nothing at all was heard, a peer counts as dead. */
const MAX_SILENT_INTERVALS = 5
/** A peer with so much unread stopped reading long ago: hundreds of messages. */
const MAX_UNREAD_BYTES = 64 * 1024 * 1024

export type Connection = {
  readonly peer: Authenticated
  /** How many intervals have passed since anything was heard. */
  readonly silentIntervals: () => number
  /**
   * @throws Unavailable `mpc_peer_unreachable` when it has ended or is not live yet
   * @throws RangeError for a frame that is too long
   */
  readonly send: (frame: Uint8Array) => void
  /** Ends it at once; what is still unsent is lost. */
  readonly cut: (reason: string) => void
  /** Ends it once what was sent is on its way. */
  readonly end: () => void
}

export type ConnectionOptions = {
  readonly socket: TLSSocket
  readonly peer: Authenticated
  /** Milliseconds between pings. */
  readonly keepaliveMs: number
  readonly onLive: (connection: Connection) => void
  readonly onFrame: (frame: Uint8Array) => void
  /** Called once. `error` is what the socket said, if it said anything. */
  readonly onEnd: (connection: Connection, reason: string, error?: Error) => void
}

/** Takes over a socket whose other side was authenticated, and says hello. */
export function openConnection({ socket, peer, keepaliveMs, onLive, onFrame, onEnd }: ConnectionOptions): Connection {
  let state: 'greeting' | 'live' | 'ended' = 'greeting'
  let heard = false
  let silent = 0
  let corked = false

  /** What is written in one turn leaves in as few TLS records and system calls as it fits in. */
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
    // A piece may hold frames after the one that made us cut the connection.
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

  // Intervals are counted, not time: when this process itself was busy for long, it reads before it counts the next one.
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
    `There is no connection to ${peer} now: it is tried again all the time.`,
  )
}
