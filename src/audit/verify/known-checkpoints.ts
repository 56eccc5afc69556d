/**
 * Every checkpoint that the log is compared with: those in the database and those in the file outside it, with their
 * signatures.
 */
import type { Queryable } from '../chain/log-rows.ts'
import { createCheckpointRows } from '../checkpoints/checkpoint-rows.ts'
import type { KeyHistory } from '../note/key-history.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import type { KnownCheckpoint } from './evidence.ts'

/** @throws TreeDamaged for a note that was not signed by a valid key */
export async function knownCheckpoints(
  database: Queryable,
  file: { readonly path: string; readonly notes: readonly string[] },
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
  { path, notes }: { readonly path: string; readonly notes: readonly string[] },
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
