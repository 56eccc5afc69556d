/** The connected peers: at most one live connection per peer, and listeners for frames, connects and disconnects. */
import type { TLSSocket } from 'node:tls'
import type { Authenticated } from './authenticate.ts'
import { type Connection, openConnection, unreachable } from './connection.ts'
import { type ChannelLog, reasonOf } from './log.ts'
import { sharedHandle } from './shared-handle.ts'

/** Silent intervals after which another connection with the same name replaces this one. */
const DOUBTFUL_INTERVALS = 2
/** Time for the last frames to be sent when everything is closed, ms. */
const CLOSING_MS = 1_000

/** The outcome of a connection, returned when it has ended. */
export type Served = { readonly live: boolean; readonly reason: string }

/** @param options.shared whether several processes use this name; each of their connections has its own handle */
export function createRoster({
  keepaliveMs,
  log,
  shared,
}: {
  readonly keepaliveMs: number
  readonly log: ChannelLog
  readonly shared: (name: string) => boolean
}) {
  const frames = createListeners<[from: string, frame: Uint8Array]>(log)
  const here = createListeners<[peer: string]>(log)
  const gone = createListeners<[peer: string]>(log)
  const live = new Map<string, Connection>()
  const open = new Map<Connection, Promise<Served>>()
  const handles = createHandles(shared)
  let closed = false

  function welcome(connection: Connection): void {
    const name = handles.of(connection)
    const { certificate } = connection.peer
    const there = live.get(name)
    if (there !== undefined) {
      const same = Buffer.compare(there.peer.certificate, certificate) === 0
      // Otherwise two processes of one name would disconnect each other endlessly; a dead connection counts as silent soon.
      if (same && there.silentIntervals() < DOUBTFUL_INTERVALS) {
        connection.cut('already_connected')
        return
      }
      there.cut('replaced')
    }
    live.set(name, connection)
    log.info({ peer: name }, 'peer connected')
    here.tell(name)
  }

  function dismiss(connection: Connection, reason: string): Served {
    open.delete(connection)
    const name = handles.of(connection)
    if (live.get(name) !== connection) return { live: false, reason }
    live.delete(name)
    if (!closed) log.warn({ peer: name, reason }, 'peer disconnected')
    gone.tell(name)
    return { live: true, reason }
  }

  return {
    /** Serves an authenticated connection until it ends. */
    async serve(socket: TLSSocket, peer: Authenticated): Promise<Served> {
      if (closed || socket.destroyed) return { live: false, reason: 'closed' }
      const { promise, resolve } = withResolver<Served>()
      const connection = openConnection({
        socket,
        peer,
        keepaliveMs,
        onLive: welcome,
        onFrame: (frame) => frames.tell(handles.of(connection), frame),
        onEnd: (ended, reason, error) => resolve(dismiss(ended, error === undefined ? reason : reasonOf(error))),
      })
      open.set(connection, promise)
      return promise
    },

    connections: (): readonly Connection[] => [...open.keys()],

    connected: (): readonly string[] =>
      [...live.values()].sort((a, b) => a.silentIntervals() - b.silentIntervals()).map(handles.of),

    send(to: string, frame: Uint8Array): void {
      const connection = live.get(to)
      if (connection === undefined) throw unreachable(to)
      connection.send(frame)
    },

    onFrame: frames.add,
    onHere: here.add,
    onGone: gone.add,

    /** Accepts no more peers, and ends all connections after pending data was sent. */
    async close(): Promise<void> {
      closed = true
      const ending = [...open]
      for (const [connection] of ending) connection.end()
      const late = setTimeout(() => {
        for (const [connection] of ending) connection.cut('closed')
      }, CLOSING_MS)
      await Promise.all(ending.map(([, ended]) => ended))
      clearTimeout(late)
    },
  }
}

/** The handle of a connection: the name of its peer or, for a shared name, a unique handle. */
function createHandles(shared: (name: string) => boolean) {
  const known = new WeakMap<Connection, string>()
  let last = 0
  return {
    of(connection: Connection): string {
      const { name } = connection.peer
      const handle = known.get(connection) ?? (shared(name) ? sharedHandle(name, ++last) : name)
      known.set(connection, handle)
      return handle
    },
  }
}

function withResolver<T>() {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve: (value: T) => resolve(value) }
}

/** A list of listeners. An error in one of them does not end the process or affect the others. */
function createListeners<Args extends unknown[]>(log: ChannelLog) {
  const listeners: ((...args: Args) => void)[] = []
  return {
    add: (listener: (...args: Args) => void) => void listeners.push(listener),
    tell(...args: Args): void {
      for (const listener of listeners) {
        try {
          listener(...args)
        } catch (error) {
          log.error({ err: error }, 'a listener of the channel failed')
        }
      }
    },
  }
}
