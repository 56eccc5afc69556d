/**
 * The auditor process: signs the log on a schedule. One leads; run a second one, with the same key and file, as a
 * standby.
 */

import { openTakeCheckpoint } from '../audit/checkpoints/open-take-checkpoint.ts'
import type { TakeCheckpoint } from '../audit/checkpoints/take-checkpoint.ts'
import { badEventsText, readOpenBadEvents } from '../audit/found-bad.ts'
import { TreeDamaged } from '../audit/tree/tree-damaged.ts'
import { Unavailable } from '../core/errors.ts'
import { lead, pause } from '../event-log/lead.ts'
import { createLeases } from '../event-log/leases.ts'
import { addGauges, KNOWN_EVENTS } from './capabilities.ts'
import { whenDatabaseAnswers } from './check-database.ts'
import type { Kernel } from './kernel.ts'
import { warnOfMissingFile } from './restores.ts'
import type { Work } from './run-process.ts'

/** Pause after an error, ms: the database may be unavailable. */
const RETRY_MS = 5_000
/** A restart of the database is over by then. */
const REPORTED_FAILURES = 5
/** The least duration of the lease: while a dead leader still holds it, the next checkpoint waits, and nothing else. */
const LEASE_MS = 15_000

/** As `openTakeCheckpoint`, for a log with the events of this program. */
export function composeTakeCheckpoint(kernel: Parameters<typeof openTakeCheckpoint>[0]): Promise<TakeCheckpoint> {
  return openTakeCheckpoint(kernel, KNOWN_EVENTS)
}

/** @param retryMs pause after an error */
export async function startAuditor(kernel: Kernel, signal: AbortSignal, retryMs = RETRY_MS): Promise<Work> {
  const { config, pool, processName, instance, logger, metrics } = kernel
  const leaseMs = Math.max(config.leaseMs, LEASE_MS)
  // Only the database shows whether the key is missing or must be created.
  const open = (stop: AbortSignal) => whenDatabaseAnswers(kernel, stop, () => composeTakeCheckpoint(kernel))
  let takeCheckpoint = await open(signal)
  await whenDatabaseAnswers(kernel, signal, () => warnOfMissingFile(kernel))
  addGauges(kernel, 'auditor')
  let refusal: string | null = null
  let failures = 0
  let problem: string | null = null
  let bad: string | null = null

  /** Returns the pause until the next attempt, ms. */
  async function attempt(stop: AbortSignal): Promise<number> {
    try {
      const { size, root, isNew } = await takeCheckpoint(stop)
      refusal = null
      problem = null
      failures = 0
      bad = badEventsText(await readOpenBadEvents(pool))
      if (isNew) logger.info({ size, root: root.toString('base64') }, 'checkpoint signed')
      return config.audit.checkpointIntervalMs
    } catch (error) {
      if (error instanceof TreeDamaged) {
        refusal = error.message
        problem = error.message
        metrics.count('bursar_audit_refusals_total', {})
        logger.fatal({ err: error }, 'ALERT: the event log contradicts a signed checkpoint; the auditor stops signing')
        return config.audit.checkpointIntervalMs
      }
      logger.warn({ err: error }, 'cannot sign a checkpoint; will retry')
      failures += 1
      if (failures >= REPORTED_FAILURES) problem = `It failed ${failures} times in a row: ${(error as Error).message}`
      // The command that rotates the key puts the new one where this process reads it.
      if (error instanceof Unavailable && error.code === 'audit_key_rotated') {
        takeCheckpoint = await open(stop)
      }
      return retryMs
    }
  }

  const leading = lead(
    {
      leases: createLeases({ pool, holder: `${processName}@${instance}`, leaseMs }),
      name: 'auditor',
      leaseMs,
      signal,
      onError: (error) => logger.warn({ err: error }, 'the auditor task failed; it will restart'),
    },
    async (_lease, stop) => {
      while (!stop.aborted) await pause(await attempt(stop), stop)
    },
  )
  const agrees = {
    name: 'audit',
    check: async () => {
      if (refusal !== null) throw new Error(refusal)
      if (bad !== null) throw new Error(`${bad} Run audit verify, and set aside what it names: docs/operations.md.`)
    },
  }
  return { drain: () => leading, checks: [agrees], problem: () => problem }
}
