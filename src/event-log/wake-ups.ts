/**
 * Notifies every process that the log has grown, by NOTIFY outside the append: inside it, NOTIFY would serialise
 * commits. A wake-up is a hint that may be lost, or made up; every listener also polls.
 */
import pg, { type Pool } from 'pg'
import { createLatch, type Latch } from '../core/latch.ts'

const CHANNEL = 'bursar_events'
/** Appends within this time share one NOTIFY; the first after a longer pause goes out at once. */
const COALESCE_MS = 4
const RECONNECT_MS = 500
/** PostgreSQL refuses payloads of 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_900

/** What a wake-up says was appended. `null` for either: it may be anything. */
export type Wake = {
  readonly types: ReadonlySet<string> | null
  /** Names of work that the appends made: `sign 1-0xAbc…`. */
  readonly work: readonly string[] | null
}

export type WakeUps = {
  /** Announces appends by this process. Calls are coalesced, so it is cheap. */
  readonly announce: (types: Iterable<string>, work?: Iterable<string>) => void
  /** Calls back after any process appended. Returns a function that stops listening. */
  readonly listen: (callback: (wake: Wake) => void) => () => void
  /** A latch on the wake-ups: one that arrives while nobody waits is kept. @param isWanted which ones; by default all */
  readonly watch: (isWanted?: (wake: Wake) => boolean) => Watch
  readonly close: () => Promise<void>
}

export type Watch = {
  /** As of a latch that each wake-up sets. */
  readonly wait: Latch['wait']
  readonly stop: () => void
}

const ANYTHING: Wake = { types: null, work: null }

export function createWakeUps(pool: Pool, connectionString: string): WakeUps {
  const callbacks = new Set<(wake: Wake) => void>()
  let client: pg.Client | null = null
  let closed = false
  let announceTimer: NodeJS.Timeout | null = null
  let announcedAt = Number.NEGATIVE_INFINITY
  let reconnectTimer: NodeJS.Timeout | null = null
  let types = new Set<string>()
  let work = new Set<string>()

  const wake = (what: Wake) => {
    for (const callback of callbacks) callback(what)
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
    listener.on('notification', ({ payload = '' }) => wake(readPayload(payload)))
    listener
      .connect()
      .then(() => listener.query(`LISTEN ${CHANNEL}`))
      .then(() => wake(ANYTHING), again)
  }

  function send(): void {
    announceTimer = null
    announcedAt = performance.now()
    const payload = toPayload(types, work)
    types = new Set()
    work = new Set()
    // A lost hint only costs a poll interval.
    pool.query({ name: 'notify', text: 'SELECT pg_notify($1, $2)', values: [CHANNEL, payload] }).catch(() => undefined)
  }

  function listen(callback: (wake: Wake) => void): () => void {
    if (client === null && reconnectTimer === null && !closed) connect()
    callbacks.add(callback)
    return () => callbacks.delete(callback)
  }

  return {
    announce(newTypes, newWork = []) {
      for (const type of newTypes) types.add(type)
      for (const name of newWork) work.add(name)
      const restMs = announcedAt + COALESCE_MS - performance.now()
      announceTimer ??= setTimeout(send, Math.max(0, restMs))
    },
    listen,
    watch(isWanted = () => true) {
      const latch = createLatch()
      const stop = listen((told) => {
        if (isWanted(told)) latch.set()
      })
      return { wait: latch.wait, stop }
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

/** `types;work`, each with commas; `*` for more than a payload holds. */
export function toPayload(types: ReadonlySet<string>, work: ReadonlySet<string>): string {
  const listed = [...types].join(',')
  const whole = `${listed};${[...work].join(',')}`
  if (Buffer.byteLength(whole) <= MAX_PAYLOAD_BYTES) return whole
  return Buffer.byteLength(listed) <= MAX_PAYLOAD_BYTES - 2 ? `${listed};*` : '*;*'
}

/** An older version, or another program, may have sent it. */
export function readPayload(payload: string): Wake {
  const [types, work] = payload.split(';')
  const listOf = (text: string | undefined) =>
    text === undefined || text === '*' ? null : text.split(',').filter((name) => name !== '')
  const named = types === '' && work === undefined ? null : listOf(types)
  return { types: named === null ? null : new Set(named), work: listOf(work) }
}
