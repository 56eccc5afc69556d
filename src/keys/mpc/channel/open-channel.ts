/**
 * The channel between mpc processes: TLS 1.3, mutually authenticated by pinned certificates. A delivered frame is
 * whole, unchanged and in order, from the named peer; delivery is not guaranteed.
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
  /** The listening port; null when it does not listen. */
  readonly port: number | null
  /** The names of connected peers, most recently heard first. */
  readonly connected: () => readonly string[]
  /**
   * Passes a frame to the connection. If it is lost with the connection, `onGone` is called.
   *
   * @param frame at most 16 MiB; must not be changed afterwards
   * @throws Unavailable `mpc_peer_unreachable` when there is no live connection: nothing was sent
   * @throws RangeError for a frame that is too long: a defect of the caller
   */
  readonly send: (to: string, frame: Frame) => void
  /** `from` is the authenticated name. The frame may be a view of a larger buffer. */
  readonly onFrame: (listener: (from: string, frame: Frame) => void) => void
  /** Called when a peer becomes reachable. */
  readonly onHere: (listener: (peer: string) => void) => void
  /** Called when the connection to a peer ended: recently sent frames may be lost. */
  readonly onGone: (listener: (peer: string) => void) => void
  readonly close: () => Promise<void>
}

/**
 * Opens the channel. Peers connect and disconnect afterwards; an unreachable peer is not an error here.
 *
 * @throws Error of the system when it cannot listen on the port
 */
export async function openChannel(options: {
  readonly identity: Identity
  /** Contains `<name>.crt` of each peer. */
  readonly trustDir: string
  /** Null for a process that only dials. */
  readonly listen: Address | null
  /** The peers that this process dials. In each pair of processes exactly one dials the other. */
  readonly dials: ReadonlyMap<string, Address>
  /** Whether a peer of this name may connect to this process. */
  readonly accepts: (name: string) => boolean
  /**
   * Whether several processes may use this name, as those that share one keystore do. Each of their connections then
   * counts as a separate peer, with the name and a number.
   */
  readonly shared?: (name: string) => boolean
  readonly log: ChannelLog
  /** Milliseconds between pings; a peer that is silent for five of them counts as gone. */
  readonly keepaliveMs?: number
}): Promise<Channel> {
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

/** Closes connections whose certificate was replaced or removed. */
async function cutTheDistrusted(trustDir: string, connections: readonly Connection[]): Promise<void> {
  for (const connection of connections) {
    const { name, certificate } = connection.peer
    // A file that cannot be read now, for example half copied, is not evidence against the peer.
    const trusted = await readTrusted(trustDir, name).catch(() => certificate)
    if (trusted === undefined || Buffer.compare(trusted, certificate) !== 0) connection.cut('certificate_withdrawn')
  }
}
