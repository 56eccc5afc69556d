/**
 * Every checkpoint that the log is compared with: those in the database and those in the file outside it, with their
 * signatures.
 */

import { BadInput } from '../../cli/command.ts'
import type { Queryable } from '../chain/log-rows.ts'
import { bytesAfterNotes, notesIn } from '../checkpoints/checkpoint-file.ts'
import { createCheckpointRows } from '../checkpoints/checkpoint-rows.ts'
import type { KeyHistory } from '../note/key-history.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import type { KnownCheckpoint } from './evidence.ts'

/** The content of a file of checkpoints, before their signatures are checked. */
export type CheckpointsOfFile = {
  readonly path: string
  readonly notes: readonly string[]
  /** What an operator must know about the file; `null` for nothing. */
  readonly remark: string | null
}

/** @param text of the file; empty when there is no file */
export function checkpointsIn(path: string, text: string): CheckpointsOfFile {
  const torn = bytesAfterNotes(text)
  const remark =
    torn === 0
      ? null
      : `${path} ends with ${torn} bytes that are no whole checkpoint: they are ignored. Copy the file again.`
  return { path, notes: notesIn(text), remark }
}

/**
 * A file that an operator names must be evidence: an emptied, cut or foreign one would make every log look intact.
 *
 * @param option that names the file
 * @throws BadInput when not one of its notes is signed by a valid key
 */
export function requireEvidence(option: string, { path, notes }: CheckpointsOfFile, keys: KeyHistory): void {
  if (notes.some((note) => keys.open(note) !== null)) return
  const why =
    notes.length === 0
      ? 'it is missing, empty or damaged'
      : `nothing in it is signed with the key ${keys.name}: it is damaged, forged or of another log, or --key is the wrong key`
  throw new BadInput(`${option}: ${path} has no checkpoint of this log: ${why}.`)
}

/** @throws TreeDamaged for a note that was not signed by a valid key */
export async function knownCheckpoints(
  database: Queryable,
  file: CheckpointsOfFile,
  keys: KeyHistory,
): Promise<readonly KnownCheckpoint[]> {
  const kept = await createCheckpointRows(database).notes()
  const isKept = new Set(kept)
  return [
    ...kept.map((note, index) => opened(note, `row ${index + 1} of audit_checkpoints`, keys)),
    // Most notes are in both places: each signature is checked once.
    ...openNotes(file, keys, isKept),
  ]
}

/**
 * The checkpoints of a file. @param but notes to skip. @throws TreeDamaged for a note that was not signed by a valid
 * key
 */
export function openNotes(
  { path, notes }: CheckpointsOfFile,
  keys: KeyHistory,
  but: ReadonlySet<string> = new Set(),
): readonly KnownCheckpoint[] {
  return notes.flatMap((note, index) => (but.has(note) ? [] : [opened(note, `note ${index + 1} of ${path}`, keys)]))
}

function opened(note: string, source: string, keys: KeyHistory): KnownCheckpoint {
  const checkpoint = keys.open(note)
  if (checkpoint !== null) return { ...checkpoint, source }
  throw new UnsignedCheckpoint(source, keys.name)
}

/** A checkpoint that is damaged, forged, or signed with another key. */
class UnsignedCheckpoint extends TreeDamaged {
  constructor(source: string, keyName: string) {
    super(source)
    this.message = `The checkpoint in ${source} is not signed with the key ${keyName}: it is damaged or forged, or --key is the wrong key.`
  }
}
