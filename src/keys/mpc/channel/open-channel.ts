/**
 * The channel between the processes of mpc: TLS 1.3, both sides known by pinned certificates. A frame that arrives came whole,
 * unchanged and in order from the peer that it is said to come from; whether it arrives, nobody promises.
 */
import type { Identity } from '../identity.ts'
import { readTrusted } from '../trust.ts'
import { authenticate } from './authenticate.ts'
import type { Connection } from './connection.ts'
import { dial } from './dial.ts'
import { listenForPeers } from './listen.ts'
import type { ChannelLog } from './log.ts'
import { createRoster } from './roster.ts'
import { tlsOptions } from './tls-options.ts'

const KEEPALIVE_MS = 1_000

export type Frame = Uint8Array
export type Address = { readonly host: string; readonly port: number }

export type Channel = {
  /** Where it listens; null when it does not. */
  readonly port: number | null
  /** The names of peers that can be sent to, those first that were heard most lately. */
  readonly connected: () => readonly string[]
  /**
   * Hands a frame over to the connection. When it is lost with the connection, `onGone` tells.
   *
   * @param frame of at most 16 MiB; must not be changed afterwards
   * @throws Unavailable `mpc_peer_unreachable` when there is no live connection: nothing was sent
   * @throws RangeError for a frame that is too long: a defect of the caller
   */
  readonly send: (to: string, frame: Frame) => void
  /** `from` is the authenticated name. The frame may be a view of something larger. */
  readonly onFrame: (listener: (from: string, frame: Frame) => void) => void
  /** A peer can be sent to from now on. */
  readonly onHere: (listener: (peer: string) => void) => void
  /** The connection to a peer ended: what was sent lately may be lost. */
  readonly onGone: (listener: (peer: string) => void) => void
  readonly close: () => Promise<void>
}

export type ChannelOptions = {
  readonly identity: Identity
  /** Holds `<name>.crt` of each peer. */
  readonly trustDir: string
  /** Null for a process that only dials. */
  readonly listen: Address | null
  /** Whom this process connects to. Of each pair of processes exactly one dials the other. */
  readonly dials: ReadonlyMap<string, Address>
  /** Whether a peer of this name may connect to this process. */
  readonly accepts: (name: string) => boolean
  /**
   * Whether several processes may bear this name, as those do that share one keystore. Each connection of theirs counts as a
   * peer then, under the name and a number of its own.
   */
  readonly shared?: (name: string) => boolean
  readonly log: ChannelLog
  /** Milliseconds between pings; a peer that is silent for five of them counts as gone. */
  readonly keepaliveMs?: number
}

/**
 * Opens the channel. Peers come and go afterwards; that one cannot be reached is no error here.
 *
 * @throws Error of the system when the port cannot be listened on
 */
export async function openChannel(options: ChannelOptions): Promise<Channel> {
  const { identity, trustDir, listen, dials, log, keepaliveMs = KEEPALIVE_MS, shared = () => false } = options
  const tls = tlsOptions(identity)
  const { serve, connections, close, ...roster } = createRoster({ keepaliveMs, log, shared })
  const mayConnect = (name: string) => name !== identity.name && !dials.has(name) && options.accepts(name)

  const server =
    listen === null
      ? null
      : await listenForPeers({
          address: listen,
          tls,
          log,
          judge: (socket) => authenticate(socket, trustDir, mayConnect),
          serve,
        })
  const stopping = new AbortController()
  const dialling = [...dials].map(([name, address]) =>
    dial({ name, address, tls, trustDir, log, serve, signal: stopping.signal }),
  )
  const watching = setInterval(() => void cutTheDistrusted(trustDir, connections()), keepaliveMs)

  return {
    ...roster,
    port: server?.port ?? null,
    async close() {
      clearInterval(watching)
      stopping.abort()
      server?.stop()
      await close()
      await Promise.all(dialling)
    },
  }
}

/** A certificate that was replaced or taken away ends the connection that it opened. */
async function cutTheDistrusted(trustDir: string, connections: readonly Connection[]): Promise<void> {
  for (const connection of connections) {
    const { name, certificate } = connection.peer
    // A file that cannot be read just now, half copied perhaps, is no word against the peer.
    const trusted = await readTrusted(trustDir, name).catch(() => certificate)
    if (trusted === undefined || Buffer.compare(trusted, certificate) !== 0) connection.cut('certificate_withdrawn')
  }
}
