/**
 * Takes a checkpoint: reads the log to its end, proves that the tree extends the last signed one, signs, writes the
 * file, then the database. A history that contradicts an earlier signature is never signed; a bad event behind it is signed
 * as a part of what the log has, and reported.
 */
import type { Pool } from 'pg'
import { Unavailable } from '../../core/errors.ts'
import type { Clock } from '../../core/ids.ts'
import { toInstant } from '../../core/ids.ts'
import { extendsTree } from '../merkle/verify-proof.ts'
import { type Checkpoint, rotationOf, signCheckpoint, signRotation } from '../note/checkpoint.ts'
import { type KeyHistory, keyHistory } from '../note/key-history.ts'
import type { NoteSigner, NoteVerifier } from '../note/note-keys.ts'
import { type GrowTreeSettings, growTree } from '../tree/grow-tree.ts'
import { createReadTree } from '../tree/read-tree.ts'
import { createTileStore } from '../tree/tile-store.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import type { CheckpointFile } from './checkpoint-file.ts'
import { createCheckpointRows } from './checkpoint-rows.ts'

/** Lock for taking a checkpoint, in a command or a worker: as `lock_checkpoints` takes it. */
const AUDIT_LOCK = 727_073_691

export type TakenCheckpoint = Checkpoint & {
  /** False when there was nothing new to sign and this is the previous checkpoint. */
  readonly isNew: boolean
}

/**
 * @throws TreeDamaged when the log or the tree contradicts what was signed before; Unavailable `audit_key_rotated` when
 *   the key was handed over and no longer signs
 */
export type TakeCheckpoint = (signal?: AbortSignal, onProgress?: (leaves: number) => void) => Promise<TakenCheckpoint>

/** For callers that report nothing: the auditor does. */
const SILENT: GrowTreeSettings = { known: null, onBad: () => undefined }

/** @param settings.next the successor of `signer`: the checkpoint then hands the log over to it */
export function createTakeCheckpoint(settings: {
  readonly pool: Pool
  readonly signer: NoteSigner
  readonly next?: NoteSigner
  readonly file: CheckpointFile
  readonly clock: Clock
  readonly growing?: GrowTreeSettings
}): TakeCheckpoint {
  const { pool, signer, next, file, clock, growing = SILENT } = settings
  const rows = createCheckpointRows(pool)
  const tree = createReadTree(createTileStore(pool))

  /** The newest checkpoint of file and database, and whether the database has it. */
  async function previous(): Promise<{ readonly before: Checkpoint | null; readonly isKept: boolean }> {
    const inFile = await file.notes()
    const keys = keyHistory(signer, [...(await rows.rotations()), ...inFile])
    if (keys.successor !== null) throw rotated(signer, keys.successor)
    const [one, other] = [
      opened(keys, (await rows.newest())?.note, 'the database'),
      opened(keys, inFile.at(-1), 'the file'),
    ]
    const newest = other === null || (one !== null && isNewer(one, other)) ? one : other
    return { before: newest, isKept: newest === one }
  }

  function opened(keys: KeyHistory, note: string | undefined, source: string): Checkpoint | null {
    if (note === undefined) return null
    const checkpoint = keys.open(note)
    if (checkpoint !== null) return checkpoint
    throw new TreeDamaged(`The newest checkpoint of ${source} is not signed with the key of this auditor`)
  }

  async function take(signal?: AbortSignal, onProgress?: (leaves: number) => void): Promise<TakenCheckpoint> {
    const { before, isKept } = await previous()
    const { size } = await growTree(pool, growing, signal, onProgress)
    if (before !== null && before.size > size) {
      throw new TreeDamaged(`The log has ${size} events, but ${before.size} were signed`)
    }
    const root = await tree.rootAt(size)
    const proof = before === null ? [] : await tree.consistency(before.size, size)
    if (before !== null && !extendsTree(before, { size, root }, proof)) {
      throw new TreeDamaged(
        `The tree of ${size} leaves is not consistent with the signed tree of ${before.size} leaves`,
      )
    }
    // Only now it is known to be a checkpoint of this log.
    if (before !== null && !isKept) await rows.keep(before, toInstant(clock()))
    if (before?.size === size && next === undefined) return { ...before, isNew: false }
    const checkpoint =
      next === undefined ? signCheckpoint({ size, root }, signer) : signRotation({ size, root }, signer, next)
    await file.append(checkpoint.note)
    await rows.keep(checkpoint, toInstant(clock()))
    return { ...checkpoint, isNew: true }
  }

  return async (signal, onProgress) => {
    // A session lock: a transaction lock would delay every reader of the log.
    const client = await pool.connect()
    try {
      await client.query('SELECT lock_checkpoints()')
      try {
        return await take(signal, onProgress)
      } finally {
        await client.query('SELECT pg_advisory_unlock($1)', [AUDIT_LOCK])
      }
    } finally {
      client.release()
    }
  }
}

/** Of two checkpoints of the same tree, the one that hands over the key is newer. */
function isNewer(one: Checkpoint, other: Checkpoint): boolean {
  return (
    one.size > other.size ||
    (one.size === other.size && (rotationOf(one.note) !== null || rotationOf(other.note) === null))
  )
}

function rotated(signer: NoteVerifier, successor: NoteVerifier): Unavailable {
  return new Unavailable(
    'audit_key_rotated',
    `The key ${signer.encoded} was replaced by ${successor.encoded} and no longer signs. Give this process the new key.`,
  )
}
