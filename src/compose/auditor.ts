/**
 * The auditor process: signs the log on a schedule. One leads; run a second one, with the same key and file, as a
 * standby.
 */

import { finishKeyRotation, openAuditKey, openNextKey } from '../audit/checkpoints/audit-key.ts'
import { type CheckpointFile, createCheckpointFile } from '../audit/checkpoints/checkpoint-file.ts'
import { createCheckpointRows } from '../audit/checkpoints/checkpoint-rows.ts'
import { createTakeCheckpoint, type TakeCheckpoint } from '../audit/checkpoints/take-checkpoint.ts'
import type { RotatedAuditKey } from '../audit/commands/rotate-key-command.ts'
import { badEventsText, readOpenBadEvents } from '../audit/found-bad.ts'
import { keyHistory } from '../audit/note/key-history.ts'
import type { NoteSigner } from '../audit/note/note-keys.ts'
import type { GrowTreeSettings } from '../audit/tree/grow-tree.ts'
import { TreeDamaged } from '../audit/tree/tree-damaged.ts'
import type { Config } from '../config.ts'
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

/** Opens the key, which is created on the first start of an installation, and the checkpoint file. */
export async function composeTakeCheckpoint({
  config: { audit },
  pool,
  clock,
  logger,
}: Pick<Kernel, 'pool' | 'clock' | 'logger'> & { readonly config: Pick<Config, 'audit'> }): Promise<TakeCheckpoint> {
  await finishAuditKeyRotation(audit, pool)
  const growing = growingOf(logger)
  return createTakeCheckpoint({ pool, signer: await openSigner(audit, pool), file: fileOf(audit), clock, growing })
}

/** Completes a key rotation that was killed after its checkpoint. Returns whether there was one. */
async function finishAuditKeyRotation(audit: Config['audit'], pool: Kernel['pool']): Promise<boolean> {
  return finishKeyRotation(audit.keyFile, async (signer) => {
    const notes = [...(await createCheckpointRows(pool).rotations()), ...(await fileOf(audit).notes())]
    return keyHistory(signer, notes).successor
  })
}

/** Hands the log over to a new key. @throws TreeDamaged when the log contradicts what was signed before: the key then stays */
export async function rotateAuditKey(
  { config: { audit }, pool, clock, logger }: Parameters<typeof composeTakeCheckpoint>[0],
  onProgress: (leaves: number) => void,
): Promise<RotatedAuditKey> {
  if (await finishAuditKeyRotation(audit, pool)) {
    return { checkpoint: null, from: null, to: await openSigner(audit, pool) }
  }
  const from = await openSigner(audit, pool)
  const to = await openNextKey(audit.keyFile, from)
  const growing = growingOf(logger)
  const take = createTakeCheckpoint({ pool, signer: from, next: to, file: fileOf(audit), clock, growing })
  const checkpoint = await take(undefined, onProgress)
  await finishAuditKeyRotation(audit, pool)
  return { checkpoint, from, to }
}

/** What is bad is logged once: the auditor goes on, and `stuck` reports it until an operator has set it aside. */
function growingOf(logger: Kernel['logger']): GrowTreeSettings {
  return {
    known: KNOWN_EVENTS,
    onBad: ({ place, streamId, streamVersion, problem }) =>
      logger.fatal(
        { position: place.position.toString(), stream: streamId, version: streamVersion, problem },
        'ALERT: the event log has a bad event; see docs/operations.md, "A bad event"',
      ),
  }
}

function fileOf(audit: Config['audit']): CheckpointFile {
  return createCheckpointFile(audit.checkpointFile)
}

function openSigner(audit: Config['audit'], pool: Kernel['pool']): Promise<NoteSigner> {
  const rows = createCheckpointRows(pool)
  const wasUsed = async () => (await rows.newest()) !== null || (await fileOf(audit).notes()).length > 0
  return openAuditKey(audit, wasUsed)
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
