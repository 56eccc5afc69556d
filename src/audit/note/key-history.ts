/**
 * The keys of one log and the sizes for which each is valid. A key is handed over in a checkpoint that names the old
 * and the new key and is signed by both, so trusting one of them is enough to trust the other, in either direction.
 *
 * Invariant: a key is not valid for a tree larger than the one at which it was handed over. Whoever steals it later
 * cannot extend the log with it.
 */
import { TreeDamaged } from '../tree/tree-damaged.ts'
import { type Checkpoint, openCheckpoint, rotationOf } from './checkpoint.ts'
import type { NoteVerifier } from './note-keys.ts'

type Handover = { readonly from: NoteVerifier; readonly to: NoteVerifier; readonly size: number }

type KeySpan = {
  readonly key: NoteVerifier
  /** Tree sizes, both inclusive. */
  readonly first: number
  readonly last: number
}

export type KeyHistory = {
  /** The name of the log, shared by all its keys. */
  readonly name: string
  /** Parses a note signed by a key while it was valid; `null` for any other. */
  readonly open: (note: string) => Checkpoint | null
  /** The successor of the trusted key; `null` while it is in use. */
  readonly successor: NoteVerifier | null
}

/**
 * @param trusted the key that the operator vouches for; the others are derived from it
 * @param notes searched for handovers; other notes are skipped
 * @throws TreeDamaged when a key was handed over twice: one of the two is forged
 */
export function keyHistory(trusted: NoteVerifier, notes: Iterable<string>): KeyHistory {
  const handovers = readHandovers(trusted.name, notes)
  const spans: KeySpan[] = []
  const before = follow(trusted, (key) => onlyOne(handovers.filter(({ to }) => isSame(to, key))), 'from').toReversed()
  const after = follow(trusted, (key) => onlyOne(handovers.filter(({ from }) => isSame(from, key))), 'to')
  const chain = [...before, ...after]
  const keys = [...before.map(({ from }) => from), trusted, ...after.map(({ to }) => to)]
  for (const [index, key] of keys.entries()) {
    spans.push({ key, first: chain[index - 1]?.size ?? 0, last: chain[index]?.size ?? Number.POSITIVE_INFINITY })
  }
  return {
    name: trusted.name,
    open(note) {
      for (const { key, first, last } of spans) {
        const checkpoint = openCheckpoint(note, key)
        if (checkpoint !== null && checkpoint.size >= first && checkpoint.size <= last) return checkpoint
      }
      return null
    },
    successor: after[0]?.to ?? null,
  }
}

/** Handovers from key to key, nearest first. A cycle, which rotation never creates, is followed once. */
function follow(
  start: NoteVerifier,
  handoverOf: (key: NoteVerifier) => Handover | undefined,
  towards: 'from' | 'to',
): Handover[] {
  const found: Handover[] = []
  for (let next = handoverOf(start); next !== undefined && !found.includes(next); next = handoverOf(next[towards])) {
    found.push(next)
  }
  return found
}

function onlyOne(handovers: readonly Handover[]): Handover | undefined {
  const [first] = handovers
  if (first === undefined) return undefined
  const other = handovers.find(
    ({ from, to, size }) => !isSame(from, first.from) || !isSame(to, first.to) || size !== first.size,
  )
  if (other === undefined) return first
  throw new TreeDamaged(
    `Two checkpoints contradict each other: one replaces the key ${first.from.encoded} with ${first.to.encoded}, the other ${other.from.encoded} with ${other.to.encoded}. One of them is forged`,
  )
}

/** The handovers signed by both keys. */
function readHandovers(name: string, notes: Iterable<string>): Handover[] {
  return [...notes].flatMap((note) => {
    const rotation = rotationOf(note)
    if (rotation === null || rotation.from.name !== name || rotation.to.name !== name) return []
    const signed = openCheckpoint(note, rotation.from)
    return signed === null || openCheckpoint(note, rotation.to) === null ? [] : [{ ...rotation, size: signed.size }]
  })
}

function isSame(one: NoteVerifier, other: NoteVerifier): boolean {
  return one.encoded === other.encoded
}
