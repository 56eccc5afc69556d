/** Checkpoints (C2SP tlog-checkpoint): the size and the root of the tree in a signed note, under the name of the log. */
import { HASH_BYTES } from '../merkle/hashes.ts'
import type { NoteSigner, NoteVerifier } from './note-keys.ts'
import { openNote, signNote } from './signed-note.ts'

/** A tree head that was signed. */
export type Checkpoint = {
  readonly origin: string
  /** Leaves: events of the log, in its reading order. */
  readonly size: number
  readonly root: Buffer
  /** The note: what others keep and check. */
  readonly note: string
}

const TEXT = /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n$/

/** Signs a tree head. The origin is the name of the key. */
export function signCheckpoint(
  head: { readonly size: number; readonly root: Uint8Array },
  signer: NoteSigner,
): Checkpoint {
  const root = Buffer.from(head.root)
  const note = signNote(`${signer.name}\n${head.size}\n${root.toString('base64')}\n`, signer)
  return { origin: signer.name, size: head.size, root, note }
}

/** Reads a note that this key has signed; `null` for any other, and for one whose text is no checkpoint of its log. */
export function openCheckpoint(note: string, verifier: NoteVerifier): Checkpoint | null {
  const text = openNote(note, verifier)
  const [, origin, digits, encoded = ''] = text === null ? [] : (TEXT.exec(text) ?? [])
  const size = Number(digits)
  const root = Buffer.from(encoded, 'base64')
  if (origin !== verifier.name || !Number.isSafeInteger(size) || root.length !== HASH_BYTES) return null
  return root.toString('base64') === encoded ? { origin, size, root, note } : null
}
