/**
 * Accepts connections of peers. An unknown peer is disconnected before any data is sent, and logged with the reason.
 */
import { createServer, type TLSSocket } from 'node:tls'
import type { Authenticated, PeerVerdict } from './authenticate.ts'
import { type ChannelLog, reasonOf } from './log.ts'
import type { Served } from './roster.ts'
import type { tlsOptions } from './tls-options.ts'

const HANDSHAKE_TIMEOUT_MS = 5_000
/** Many times what the peers need; unknown clients cannot hold more sockets than this. */
const MAX_CONNECTIONS = 256

/** Resolves once it listens. `stop` stops accepting; existing connections end on their own. */
export async function listenForPeers({
  address,
  tls,
  log,
  judge,
  serve,
}: {
  readonly address: { readonly host: string; readonly port: number }
  readonly tls: ReturnType<typeof tlsOptions>
  readonly log: ChannelLog
  readonly judge: (socket: TLSSocket) => Promise<PeerVerdict>
  readonly serve: (socket: TLSSocket, peer: Authenticated) => Promise<Served>
}) {
  function refuse(from: string | undefined, reason: string, of: { claimed?: string; file?: string } = {}): void {
    log.warn({ from, claimed: of.claimed, reason, file: of.file }, 'connection refused')
  }

  async function admit(socket: TLSSocket): Promise<void> {
    // A closed socket no longer has the remote address.
    const from = socket.remoteAddress
    try {
      const verdict = await judge(socket)
      if ('refused' in verdict) return refuse(from, verdict.refused, verdict)
      const { live, reason } = await serve(socket, verdict)
      if (!live) refuse(from, reason, { claimed: verdict.name })
    } catch (error) {
      refuse(from, reasonOf(error))
    } finally {
      socket.destroy()
    }
  }

  const server = createServer({ ...tls, handshakeTimeout: HANDSHAKE_TIMEOUT_MS }, (socket) => {
    // An unhandled error event would end the process. Errors of the socket are reported by its server.
    socket.on('error', () => socket.destroy())
    void admit(socket)
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on('tlsClientError', (error, socket) => {
    refuse(socket.remoteAddress, reasonOf(error))
    socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => resolve())
  })
  server.on('error', (error) => log.error({ err: error }, 'cannot accept connections'))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : address.port,
    stop: () => void server.close(),
  }
}
