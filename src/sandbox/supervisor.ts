/**
 * Keeps services running under one parent: restarts those that die, and stops all in order.
 *
 * Invariant: after `stop` has returned, nothing started here is running, including services that were being restarted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit } from './processes.ts'

/** A running service. */
export type Running = {
  readonly pid: number
  /** Resolves when it has exited, for any reason. */
  readonly exited: Promise<Exit>
  readonly stop: () => Promise<void>
}

export type Service = {
  readonly name: string
  /**
   * A service with a higher rank is stopped before the services of lower rank that it uses; those of one rank are
   * stopped together.
   */
  readonly rank: number
  readonly start: () => Promise<Running>
}

export type Supervisor = {
  /** Starts a service and returns when it runs. @throws the error of the first start: the caller then stops the rest */
  readonly start: (service: Service) => Promise<void>
  readonly processes: () => readonly { readonly name: string; readonly pid: number }[]
  /** Stops everything, highest rank first. */
  readonly stop: () => Promise<void>
}

/** The first restart is almost immediate; a service that keeps dying must not use up the CPU. */
const FIRST_RESTART_MS = 100
const LAST_RESTART_MS = 5_000
/** After running this long a service counts as healthy: its next restart is a first one. */
const WELL_AFTER_MS = 10_000

export type SupervisorEvents = {
  /** A service runs with a new pid. */
  readonly onStarted: (name: string, pid: number) => void
  /** A running service exited without being stopped. */
  readonly onDied: (name: string, exit: Exit) => void
  /** A service could not be restarted; it is tried again later. */
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

const LOOK_MS = 50
/** A machine under load may take long; after this time the failing checks are reported. */
const READY_TIMEOUT_MS = 120_000

/** Waits until the service is ready, with every network. @throws Error with the last response of `/readyz` */
export async function untilReady(baseUrl: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  let last = 'no connection'
  while (Date.now() < deadline) {
    try {
      const response = await fetch(`${baseUrl}/readyz`)
      last = await response.text()
      if (response.ok && !last.includes('"ok":false')) return
    } catch (error) {
      last = error instanceof Error ? error.message : String(error)
    }
    await sleep(LOOK_MS)
  }
  throw new Error(`the service did not become ready: ${last}`)
}
