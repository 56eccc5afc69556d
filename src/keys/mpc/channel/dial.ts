/** Keeps one connection to a peer: connects, authenticates, and reconnects until it is stopped. */
import { setTimeout as pause } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { type Authenticated, authenticate } from './authenticate.ts'
import { type ChannelLog, reasonOf } from './log.ts'
import type { Served } from './roster.ts'
import type { tlsOptions } from './tls-options.ts'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000
const HANDSHAKE_TIMEOUT_MS = 5_000

/** Resolves after `signal` was aborted and the current connection has ended. */
export async function dial(options: {
  readonly name: string
  readonly address: { readonly host: string; readonly port: number }
  readonly tls: ReturnType<typeof tlsOptions>
  readonly trustDir: string
  readonly log: ChannelLog
  readonly serve: (socket: TLSSocket, peer: Authenticated) => Promise<Served>
  readonly signal: AbortSignal
}): Promise<void> {
  const { name, address, log, signal } = options
  let pauseMs = FIRST_PAUSE_MS
  let told: string | null = null
  while (!signal.aborted) {
    const { live, reason, file } = await attempt(options)
    if (live) {
      pauseMs = FIRST_PAUSE_MS
      told = null
    } else if (reason !== told && !signal.aborted) {
      // Logged when the reason changes, not on each try: a peer may be down for days.
      log.warn({ peer: name, ...address, reason, file }, 'cannot reach peer')
      told = reason
    }
    // Jitter, so that peers that lost each other at once do not reconnect at once.
    await pause(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
  }
}

/** `file`: the path of the certificate that is missing or differs. */
type Attempt = Served & { readonly file?: string | undefined }

async function attempt({ name, address, tls, trustDir, serve, signal }: Parameters<typeof dial>[0]): Promise<Attempt> {
  const socket = connect({ ...tls, ...address })
  const stop = () => socket.destroy()
  signal.addEventListener('abort', stop)
  try {
    await handshake(socket)
    const verdict = await authenticate(socket, trustDir, (claimed) => claimed === name)
    if ('refused' in verdict) return { live: false, reason: verdict.refused, file: verdict.file }
    signal.removeEventListener('abort', stop)
    return await serve(socket, verdict)
  } catch (error) {
    return { live: false, reason: reasonOf(error) }
  } finally {
    signal.removeEventListener('abort', stop)
    socket.destroy()
  }
}

async function handshake(socket: TLSSocket): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    // Stays attached for the life of the socket: an unhandled error event would end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('closed')))
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy(new Error('timed_out')))
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      resolve()
    })
  })
}
