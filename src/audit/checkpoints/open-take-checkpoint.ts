/** Who signs the log: the key, its rotation, and the file of checkpoints. */
import type { Pool } from 'pg'
import type { Context } from '../../context.ts'
import type { KnownEvents } from '../../event-log/fold.ts'
import type { RotatedAuditKey } from '../commands/rotate-key-command.ts'
import { keyHistory } from '../note/key-history.ts'
import type { NoteSigner } from '../note/note-keys.ts'
import type { GrowTreeSettings } from '../tree/grow-tree.ts'
import { finishKeyRotation, openAuditKey, openNextKey } from './audit-key.ts'
import { type CheckpointFile, createCheckpointFile } from './checkpoint-file.ts'
import { createCheckpointRows } from './checkpoint-rows.ts'
import { createTakeCheckpoint, type TakeCheckpoint } from './take-checkpoint.ts'

type AuditConfig = Context['config']['audit']
type SigningContext = Pick<Context, 'pool' | 'clock' | 'logger'> & { readonly config: Pick<Context['config'], 'audit'> }

/**
 * Opens the key, which is created on the first start of an installation, and the checkpoint file.
 *
 * @param known events of other types are bad
 */
export async function openTakeCheckpoint(
  { config: { audit }, pool, clock, logger }: SigningContext,
  known: KnownEvents,
): Promise<TakeCheckpoint> {
  await finishAuditKeyRotation(audit, pool)
  const growing = growingOf(logger, known)
  return createTakeCheckpoint({ pool, signer: await openSigner(audit, pool), file: fileOf(audit), clock, growing })
}

/** Completes a key rotation that was killed after its checkpoint. Returns whether there was one. */
async function finishAuditKeyRotation(audit: AuditConfig, pool: Pool): Promise<boolean> {
  return finishKeyRotation(audit.keyFile, async (signer) => {
    const notes = [...(await createCheckpointRows(pool).rotations()), ...(await fileOf(audit).notes())]
    return keyHistory(signer, notes).successor
  })
}

/** Hands the log over to a new key. @throws TreeDamaged when the log contradicts what was signed before: the key then stays */
export async function rotateAuditKey(
  { config: { audit }, pool, clock, logger }: SigningContext,
  known: KnownEvents,
  onProgress: (leaves: number) => void,
): Promise<RotatedAuditKey> {
  if (await finishAuditKeyRotation(audit, pool)) {
    return { checkpoint: null, from: null, to: await openSigner(audit, pool) }
  }
  const from = await openSigner(audit, pool)
  const to = await openNextKey(audit.keyFile, from)
  const growing = growingOf(logger, known)
  const take = createTakeCheckpoint({ pool, signer: from, next: to, file: fileOf(audit), clock, growing })
  const checkpoint = await take(undefined, onProgress)
  await finishAuditKeyRotation(audit, pool)
  return { checkpoint, from, to }
}

/** What is bad is logged once: the auditor goes on, and `stuck` reports it until an operator has set it aside. */
function growingOf(logger: Context['logger'], known: KnownEvents): GrowTreeSettings {
  return {
    known,
    onBad: ({ place, streamId, streamVersion, problem }) =>
      logger.fatal(
        { position: place.position.toString(), stream: streamId, version: streamVersion, problem },
        'ALERT: the event log has a bad event; see docs/operations.md, "A bad event"',
      ),
  }
}

function fileOf(audit: AuditConfig): CheckpointFile {
  return createCheckpointFile(audit.checkpointFile)
}

function openSigner(audit: AuditConfig, pool: Pool): Promise<NoteSigner> {
  const rows = createCheckpointRows(pool)
  const wasUsed = async () => (await rows.newest()) !== null || (await fileOf(audit).notes()).length > 0
  return openAuditKey(audit, wasUsed)
}
