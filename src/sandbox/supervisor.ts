/**
 * Keeps services running under one parent: what dies is started again, what is told to stop is stopped in order.
 *
 * Invariant: once `stop` has returned nothing runs that was started here, even what was just being started again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit } from './processes.ts'

/** A service that runs now. */
export type Running = {
  readonly pid: number
  /** Resolves when it is gone, whoever ended it. */
  readonly exited: Promise<Exit>
  readonly stop: () => Promise<void>
}

export type Service = {
  readonly name: string
  /** What has a higher rank is stopped before what has a lower one, which it uses; one rank is stopped at once. */
  readonly rank: number
  readonly start: () => Promise<Running>
}

export type Supervisor = {
  /** Starts a service and returns when it runs. @throws what the first start throws: the caller then stops the rest */
  readonly start: (service: Service) => Promise<void>
  readonly processes: () => readonly { readonly name: string; readonly pid: number }[]
  /** Stops everything, the highest rank first. */
  readonly stop: () => Promise<void>
}

/** The first restart comes almost at once; one that keeps dying must not burn the processor. */
const FIRST_RESTART_MS = 100
const LAST_RESTART_MS = 5_000
/** A service that lived so long was well: its next restart is a first one. */
const WELL_AFTER_MS = 10_000

export type SupervisorEvents = {
  /** A service runs under a new pid. */
  readonly onStarted: (name: string, pid: number) => void
  /** A service that was running is gone, and nobody told it to. */
  readonly onDied: (name: string, exit: Exit) => void
  /** A service could not be started again; it is tried once more, later. */
  readonly onStartFailed: (name: string, error: unknown) => void
}

type Entry = { readonly service: Service; running: Running | null; watching: Promise<void> }

export function createSupervisor(events: SupervisorEvents): Supervisor {
  const entries: Entry[] = []
  const stopping = new AbortController()
  const { signal } = stopping

  async function start(entry: Entry): Promise<void> {
    const running = await entry.service.start()
    entry.running = running
    if (signal.aborted) return running.stop()
    events.onStarted(entry.service.name, running.pid)
  }

  async function keepRunning(entry: Entry): Promise<void> {
    const { name } = entry.service
    let restartMs = FIRST_RESTART_MS
    while (!signal.aborted) {
      const startedAt = performance.now()
      const { running } = entry
      if (running !== null) {
        const exit = await running.exited
        entry.running = null
        if (signal.aborted) return
        events.onDied(name, exit)
        if (performance.now() - startedAt > WELL_AFTER_MS) restartMs = FIRST_RESTART_MS
      }
      await sleep(restartMs, undefined, { signal }).catch(() => undefined)
      restartMs = Math.min(2 * restartMs, LAST_RESTART_MS)
      if (signal.aborted) return
      await start(entry).catch((error: unknown) => events.onStartFailed(name, error))
    }
  }

  return {
    async start(service) {
      signal.throwIfAborted()
      const entry: Entry = { service, running: null, watching: Promise.resolve() }
      const starting = start(entry)
      entry.watching = starting.catch(() => undefined)
      entries.push(entry)
      await starting
      entry.watching = keepRunning(entry)
    },
    processes: () =>
      entries.flatMap(({ service: { name }, running }) => (running === null ? [] : [{ name, pid: running.pid }])),
    async stop() {
      stopping.abort()
      for (const rank of [...new Set(entries.map(({ service }) => service.rank))].sort((a, b) => b - a)) {
        const those = entries.filter(({ service }) => service.rank === rank)
        await Promise.all(those.map(({ running }) => running?.stop()))
        await Promise.all(those.map(({ watching }) => watching))
      }
    },
  }
}
