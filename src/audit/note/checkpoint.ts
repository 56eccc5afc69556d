/** Checkpoints (C2SP tlog-checkpoint): size and root of the tree in a signed note, under the name of the log. */
import { EMPTY_ROOT, HASH_BYTES } from '../merkle/hashes.ts'
import { type NoteSigner, type NoteVerifier, parseNoteVerifier } from './note-keys.ts'
import { openNote, signNote } from './signed-note.ts'

/** A signed tree head. */
export type Checkpoint = {
  readonly origin: string
  /** Number of leaves: events of the log, in reading order. */
  readonly size: number
  readonly root: Buffer
  /** The note that others keep and check. */
  readonly note: string
}

/** The last two lines, extension lines of the format, are present when this checkpoint hands over the key. */
const TEXT =
  /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:rotated from ([^\n ]+)\nrotated to ([^\n ]+)\n)?$/

/** The lines below the text: one signature, or two of a handover. */
const SIGNATURES = /^(— [^\s+]+ [A-Za-z0-9+/]+={0,2}\n){1,2}$/

/** A key and its successor. */
export type KeyRotation = { readonly from: NoteVerifier; readonly to: NoteVerifier }

/** A tree head as text: the root in hex. */
export type CheckpointHead = { readonly size: number; readonly root: string }

type Head = { readonly size: number; readonly root: Uint8Array }

/** Signs a tree head. The origin is the name of the key. */
export function signCheckpoint(head: Head, signer: NoteSigner): Checkpoint {
  return checkpointOf(head, signer.name, signNote(textOf(head, signer.name), [signer]))
}

/**
 * Signs a tree head with the old and the new key. The text names both, so each signature vouches for the other key; two
 * signatures alone would not, since anybody can add one below a text.
 */
export function signRotation(head: Head, from: NoteSigner, to: NoteSigner): Checkpoint {
  const text = `${textOf(head, from.name)}rotated from ${from.encoded}\nrotated to ${to.encoded}\n`
  return checkpointOf(head, from.name, signNote(text, [from, to]))
}

/** The keys of a handover note; `null` for an ordinary note. Signatures are not checked here. */
export function rotationOf(note: string): KeyRotation | null {
  const [, , , , from, to] = TEXT.exec(note.slice(0, note.lastIndexOf('\n\n') + 1)) ?? []
  const keys = { from: parseNoteVerifier(from ?? ''), to: parseNoteVerifier(to ?? '') }
  return keys.from === undefined || keys.to === undefined ? null : { from: keys.from, to: keys.to }
}

/** What a note says about the log, regardless of its signer; the empty tree when it is not a checkpoint. */
export function readCheckpointHead(note: string): CheckpointHead {
  const [, , size = '0', root] = TEXT.exec(note.slice(0, note.lastIndexOf('\n\n') + 1)) ?? []
  return {
    size: Number(size),
    root: root === undefined ? EMPTY_ROOT.toString('hex') : Buffer.from(root, 'base64').toString('hex'),
  }
}

/** The name of the log in a note, whoever signed it; `null` when it is not a checkpoint. */
export function originOf(note: string): string | null {
  return TEXT.exec(note.slice(0, note.lastIndexOf('\n\n') + 1))?.[1] ?? null
}

function textOf({ size, root }: Head, name: string): string {
  return `${name}\n${size}\n${Buffer.from(root).toString('base64')}\n`
}

function checkpointOf({ size, root }: Head, origin: string, note: string): Checkpoint {
  return { origin, size, root: Buffer.from(root), note }
}

/** Whether a text is the note of a tree of this size, whoever signed it. */
export function isNoteOfSize(note: string, size: string): boolean {
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || TEXT.exec(note.slice(0, end + 1))?.[2] !== size) return false
  return SIGNATURES.test(note.slice(end + 2))
}

/** Parses a note signed by this key; `null` for any other, and for a text that is not a checkpoint of its log. */
export function openCheckpoint(note: string, verifier: NoteVerifier): Checkpoint | null {
  const text = openNote(note, verifier)
  const [, origin, digits, encoded = ''] = text === null ? [] : (TEXT.exec(text) ?? [])
  const size = Number(digits)
  const root = Buffer.from(encoded, 'base64')
  if (origin !== verifier.name || !Number.isSafeInteger(size) || root.length !== HASH_BYTES) return null
  return root.toString('base64') === encoded ? { origin, size, root, note } : null
}
