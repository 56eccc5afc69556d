/**
 * Notifies every process that the log has grown, by NOTIFY outside the append: inside it, NOTIFY would serialise
 * commits. A wake-up is a hint that may be lost; every listener also polls.
 */
import pg, { type Pool } from 'pg'
import { createLatch, type Latch } from '../core/latch.ts'

const CHANNEL = 'bursar_events'
/** Appends within this time share one NOTIFY. */
const COALESCE_MS = 4
const RECONNECT_MS = 500

export type WakeUps = {
  /** Announces an append by this process. Calls are coalesced, so it is cheap. */
  readonly announce: () => void
  /** Calls back after any process appended. Returns a function that stops listening. */
  readonly listen: (callback: () => void) => () => void
  /** A latch on the wake-ups: one that arrives while nobody waits is kept. */
  readonly watch: () => Watch
  readonly close: () => Promise<void>
}

export type Watch = {
  /** As of a latch that each wake-up sets. */
  readonly wait: Latch['wait']
  readonly stop: () => void
}

export function createWakeUps(pool: Pool, connectionString: string): WakeUps {
  const callbacks = new Set<() => void>()
  let client: pg.Client | null = null
  let closed = false
  let announceTimer: NodeJS.Timeout | null = null
  let reconnectTimer: NodeJS.Timeout | null = null

  const wake = () => {
    for (const callback of callbacks) callback()
  }

  function connect(): void {
    const listener = new pg.Client({ connectionString, keepAlive: true })
    client = listener
    const again = () => {
      if (client !== listener) return
      client = null
      listener.end().catch(() => undefined) // The connection is already closed.
      if (!closed) {
        reconnectTimer = setTimeout(() => {
          reconnectTimer = null
          connect()
        }, RECONNECT_MS)
      }
    }
    listener.on('error', again)
    listener.on('end', again)
    listener.on('notification', wake)
    listener
      .connect()
      .then(() => listener.query(`LISTEN ${CHANNEL}`))
      .then(wake, again)
  }

  function announce(): void {
    announceTimer ??= setTimeout(() => {
      announceTimer = null
      pool.query(`SELECT pg_notify('${CHANNEL}', '')`).catch(() => undefined) // A lost hint only costs a poll interval.
    }, COALESCE_MS)
  }

  function listen(callback: () => void): () => void {
    if (client === null && reconnectTimer === null && !closed) connect()
    callbacks.add(callback)
    return () => callbacks.delete(callback)
  }

  return {
    announce,
    listen,
    watch() {
      const latch = createLatch()
      return { wait: latch.wait, stop: listen(latch.set) }
    },
    async close() {
      closed = true
      if (announceTimer) clearTimeout(announceTimer)
      if (reconnectTimer) clearTimeout(reconnectTimer)
      const listener = client
      client = null
      await listener?.end()
    },
  }
}
