/**
 * The watch for restores of the database, for signers and for the operator command that does their work; and whether a
 * signer may start.
 */
import { createCheckpointFile } from '../audit/checkpoints/checkpoint-file.ts'
import { createCheckpointRows } from '../audit/checkpoints/checkpoint-rows.ts'
import { createFindMissing } from '../audit/checkpoints/find-missing.ts'
import { Conflict, Unavailable } from '../core/errors.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import { createWatchRestores, type WatchRestores } from '../restores/watch-restores.ts'
import type { Kernel } from './kernel.ts'

export function composeWatchRestores({
  config,
  pool,
  log,
  logger,
}: Pick<Kernel, 'config' | 'pool' | 'log' | 'logger'>): WatchRestores {
  return createWatchRestores({
    pool,
    log,
    findMissing: createFindMissing(pool, createCheckpointFile(config.audit.checkpointFile)),
    onDetected: ({ evidence, systemIdentifier, timeline }) =>
      logger.error(
        { evidence, system_identifier: systemIdentifier, timeline },
        'the database went back to an earlier state, or may have; see docs/operations.md, "Backup, restore, failover"',
      ),
  })
}

/**
 * Checked at the start of a signer. An unavailable database does not fail it: lanes check again before they sign.
 *
 * @throws Conflict `log_too_short`; what it found is recorded then. Conflict `checkpoints_of_another_log`; nothing is
 */
export async function requireWholeLog(restores: WatchRestores): Promise<void> {
  const refusal = await restores.refusal('start').catch((error: unknown) => {
    if (!isConnectionFailure(error) && !(error instanceof Unavailable)) throw error
    return null
  })
  if (refusal !== null) throw new Conflict('log_too_short', `The signer does not start: ${refusal}.`)
}

/**
 * Warns of a file that the settings name and that is missing although checkpoints were signed: without it a restore of
 * the database is not noticed. An operator may have moved it away after a restore, so the process starts.
 */
export async function warnOfMissingFile({
  config,
  pool,
  logger,
}: Pick<Kernel, 'config' | 'pool' | 'logger'>): Promise<void> {
  const { checkpointFile: path, isCheckpointFileNamed } = config.audit
  if (!isCheckpointFileNamed || (await createCheckpointRows(pool).newest()) === null) return
  if ((await createCheckpointFile(path).notes()).length > 0) return
  logger.warn(
    { path },
    'the file of AUDIT_CHECKPOINT_FILE is missing or has no checkpoint, although checkpoints were signed; without it a restore of the database is not noticed',
  )
}
