/**
 * Leadership: runs a task while this process holds a lease, renews the lease in parallel, and aborts the task's signal
 * when the lease is lost. A failed task is started again, here or by the next holder of the lease.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Lease, Leases } from './leases.ts'

/** Tries for leadership three times per lease duration, so that a dead leader is replaced soon. */
const RENEWALS_PER_LEASE = 3

/** Runs until the signal aborts. `task` gets the lease, whose fence its appends must name, and its own abort signal. */
export async function lead(
  settings: {
    readonly leases: Leases
    readonly name: string
    readonly leaseMs: number
    readonly signal: AbortSignal
    readonly onError: (error: unknown) => void
  },
  task: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { leases, name, leaseMs, signal, onError } = settings
  const pauseMs = leaseMs / RENEWALS_PER_LEASE
  while (!signal.aborted) {
    try {
      const lease = await leases.acquire(name)
      if (lease !== null) await hold(lease, pauseMs, signal, task)
    } catch (error) {
      onError(error)
    }
    await pause(pauseMs, signal)
  }
}

async function hold(
  lease: Lease,
  pauseMs: number,
  signal: AbortSignal,
  task: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const both = AbortSignal.any([signal, stop.signal])
  // Handled immediately: the task may take long to end, and a pending unhandled rejection would end the process. After
  // a failed renewal the lease may be lost.
  const renewing = keepRenewing(lease, pauseMs, both)
    .catch(() => undefined)
    .finally(() => stop.abort())
  try {
    await task(lease, both)
  } finally {
    stop.abort()
    await renewing
    await lease.release({ force: true }).catch(() => undefined) // The database is unavailable: the lease will expire.
  }
}

async function keepRenewing(lease: Lease, pauseMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(pauseMs, signal)
    if (!signal.aborted && !(await lease.renew())) return
  }
}

/** Waits, or returns early when the signal aborts. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return
  await delay(milliseconds, undefined, { signal }).catch(() => undefined) // An abort ends the wait.
}
