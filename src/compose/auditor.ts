/** The auditor process: signs the log on a schedule. One leads; run a second one, with the same key and file, to take over when it dies. */
import { openAuditKey } from '../audit/checkpoints/audit-key.ts'
import { createCheckpointFile } from '../audit/checkpoints/checkpoint-file.ts'
import { createCheckpointRows } from '../audit/checkpoints/checkpoint-rows.ts'
import { createTakeCheckpoint, type TakeCheckpoint } from '../audit/checkpoints/take-checkpoint.ts'
import { TreeDamaged } from '../audit/tree/tree-damaged.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { lead, pause } from '../event-log/lead.ts'
import { addAuditGauges } from './audit-gauges.ts'
import type { Kernel } from './kernel.ts'
import type { Work } from './run-process.ts'

/** What failed is tried again so much later: the database may be away. */
const RETRY_MS = 5_000

/** Opens the key, which is made on the first start of an installation, and the file. */
export async function composeTakeCheckpoint({ config, pool, clock }: Kernel): Promise<TakeCheckpoint> {
  const file = createCheckpointFile(config.audit.checkpointFile)
  const wasUsed = async () => (await createCheckpointRows(pool).newest()) !== null || (await file.notes()).length > 0
  const signer = await openAuditKey(config.audit, wasUsed)
  return createTakeCheckpoint({ pool, signer, file, clock })
}

/** Whether a key is missing or new, the database alone knows: a start waits for it, as other processes do. */
async function onceAnswered(kernel: Kernel, signal: AbortSignal): Promise<TakeCheckpoint> {
  for (;;) {
    try {
      return await composeTakeCheckpoint(kernel)
    } catch (error) {
      if (!isConnectionFailure(error) || signal.aborted) throw error
      kernel.logger.warn({ err: error }, 'the database does not answer, the auditor waits for it')
      await pause(RETRY_MS, signal)
    }
  }
}

export async function startAuditor(kernel: Kernel, signal: AbortSignal): Promise<Work> {
  const { config, leases, logger, metrics } = kernel
  const takeCheckpoint = await onceAnswered(kernel, signal)
  addAuditGauges(kernel)
  let refusal: string | null = null

  /** Returns how long to wait until the next one. */
  async function attempt(stop: AbortSignal): Promise<number> {
    try {
      const { size, root, isNew } = await takeCheckpoint(stop)
      refusal = null
      if (isNew) logger.info({ size, root: root.toString('base64') }, 'a checkpoint was signed')
      return config.audit.checkpointIntervalMs
    } catch (error) {
      if (error instanceof TreeDamaged) {
        refusal = error.message
        metrics.countAuditRefusal()
        logger.fatal({ err: error }, 'ALERT: the log contradicts what was signed, nothing is signed any more')
        return config.audit.checkpointIntervalMs
      }
      logger.warn({ err: error }, 'no checkpoint could be taken, it is tried again')
      return RETRY_MS
    }
  }

  const leading = lead(
    {
      leases,
      name: 'auditor',
      leaseMs: config.leaseMs,
      signal,
      onError: (error) => logger.warn({ err: error }, 'the auditor stopped leading, it tries again'),
    },
    async (_lease, stop) => {
      while (!stop.aborted) await pause(await attempt(stop), stop)
    },
  )
  const agrees = {
    name: 'audit',
    check: async () => {
      if (refusal !== null) throw new Error(refusal)
    },
  }
  return { drain: () => leading, checks: [agrees] }
}
