/**
 * The keys of one log and the sizes for which each counts. A key is handed over in a checkpoint whose text names the old and the
 * new key and that both have signed: so whoever trusts one of them can trust the other, in either direction.
 *
 * Invariant: a key counts for no tree larger than the one at which it was handed over. Who steals it later cannot go on with it.
 */
import { TreeDamaged } from '../tree/tree-damaged.ts'
import { type Checkpoint, openCheckpoint, rotationOf } from './checkpoint.ts'
import type { NoteVerifier } from './note-keys.ts'

type Handover = { readonly from: NoteVerifier; readonly to: NoteVerifier; readonly size: number }

type KeySpan = {
  readonly key: NoteVerifier
  /** Sizes of trees, both included. */
  readonly first: number
  readonly last: number
}

export type KeyHistory = {
  /** The name of the log: all its keys bear it. */
  readonly name: string
  /** Reads a note that a key signed while it counted; `null` for any other. */
  readonly open: (note: string) => Checkpoint | null
  /** The key that the trusted one was handed over to; `null` while it counts. */
  readonly successor: NoteVerifier | null
}

/**
 * @param trusted the key that somebody vouches for; the others follow from it
 * @param notes among which handovers are looked for; others are passed over
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

/** Handovers from key to key, the nearest first. A circle, which nobody makes by rotating, is walked once. */
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
    `Two checkpoints hand the key over differently, from ${first.from.encoded} to ${first.to.encoded} and from ${other.from.encoded} to ${other.to.encoded}: one of them is forged`,
  )
}

/** Those that both keys have signed. */
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
