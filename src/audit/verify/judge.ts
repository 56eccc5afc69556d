/** Judges the evidence of a log: intact, or where and how it was changed. Pure. */
import type { BadEvent } from '../chain/chain-check.ts'
import { byPlace } from './chain-shares.ts'
import type { ComparedRows } from './compare-rows.ts'
import type { Evidence } from './evidence.ts'
import type { LeafDifference } from './leaf-comparison.ts'

export type FindingKind =
  | 'bad_event'
  | 'changed'
  | 'inserted'
  | 'removed'
  | 'reordered'
  | 'truncated'
  | 'forked'
  | 'tree_damaged'
  | 'row_differs'

export type Finding = {
  readonly kind: FindingKind
  /** One line that names the event or the checkpoint, and what is wrong. */
  readonly message: string
  readonly position: string | null
  readonly streamId: string | null
  readonly streamVersion: number | null
}

export type LogVerdict = {
  /** Number of events in the log. */
  readonly events: number
  readonly root: Buffer
  /** Number of checkpoints that match the log. */
  readonly checkpoints: number
  /** The first problem; `null` when there is none. */
  readonly finding: Finding | null
  /** Read model rows that were compared with the log; none when the log itself is damaged. */
  readonly rows: ComparedRows
}

const NOWHERE = { position: null, streamId: null, streamVersion: null } as const

const NO_ROWS: ComparedRows = { rows: 0, differences: [] }

export function judge(evidence: Evidence): LogVerdict {
  const { tree, checkpoints } = evidence
  const good = checkpoints.filter(({ size, root }) => tree.roots.get(size)?.equals(root) === true)
  return { events: tree.size, root: tree.root, checkpoints: good.length, finding: findingOf(evidence), rows: NO_ROWS }
}

/** Adds the result of the row comparison to the verdict on a log: an intact log does not excuse a wrong row. */
export function judgeRows(verdict: LogVerdict, rows: ComparedRows): LogVerdict {
  const [first] = rows.differences
  if (first === undefined) return { ...verdict, rows }
  return { ...verdict, rows, finding: { kind: 'row_differs', message: first.message, ...NOWHERE } }
}

/** Problems that identify an event come first; those that only a root shows come last. */
function findingOf(evidence: Evidence): Finding | null {
  const { bad, tree } = evidence
  const { difference } = tree
  const treeIsDamaged = difference !== null && isVouchedFor(evidence, difference.index)
  const tampered = difference === null || treeIsDamaged ? null : badEventOf(difference)
  const [first] = [bad ?? [], tampered ?? []].flat().sort(byPlace)
  if (first !== undefined)
    return eventFinding(first, first === tampered ? (difference?.kind ?? 'changed') : 'bad_event')
  const signed = truncation(evidence) ?? fork(evidence)
  if (signed !== null) return signed
  if (difference === null || !treeIsDamaged) return null
  const message = `The tree in the table audit_tiles is damaged at leaf ${difference.index}; the log itself matches the checkpoints.`
  return { kind: 'tree_damaged', message, ...NOWHERE }
}

/** Whether a signed root covers a leaf and matches the log: then the stored tree is wrong. */
function isVouchedFor({ tree, checkpoints }: Evidence, index: number): boolean {
  return checkpoints.some(({ size, root }) => size > index && tree.roots.get(size)?.equals(root) === true)
}

const LEAF_PROBLEMS: Readonly<Record<LeafDifference['kind'], (index: number) => string>> = {
  changed: (index) => `does not match leaf ${index} of the tree: the event and its hash were changed`,
  inserted: (index) => `is not in the tree: it was inserted before leaf ${index}`,
  removed: (index) =>
    `is at the position of another event of the tree: the event of leaf ${index}, before this one, was removed`,
  reordered: (index) =>
    `is at leaf ${index}, but the tree has an event there that comes later in the log: events were reordered`,
}

function badEventOf({ index, event, kind }: LeafDifference): BadEvent {
  const { place, streamId, streamVersion } = event
  return { place, streamId, streamVersion, problem: LEAF_PROBLEMS[kind](index) }
}

function eventFinding({ place, streamId, streamVersion, problem }: BadEvent, kind: FindingKind): Finding {
  const position = place.position.toString()
  const message = `The event at position ${position}, ${streamId} version ${streamVersion}, ${problem}.`
  return { kind, message, position, streamId, streamVersion }
}

function truncation({ tree, state, checkpoints }: Evidence): Finding | null {
  const [newest] = checkpoints.filter(({ size }) => size > tree.size).sort((one, other) => other.size - one.size)
  if (newest !== undefined) {
    const message = `The log has ${tree.size} events, but the checkpoint of ${newest.source} covers ${newest.size}: the last ${newest.size - tree.size} events are missing.`
    return { kind: 'truncated', message, ...NOWHERE }
  }
  if (state.size <= tree.size) return null
  const message = `The log has ${tree.size} events, but the tree has ${state.size} leaves: the last ${state.size - tree.size} events are missing.`
  return { kind: 'truncated', message, ...NOWHERE }
}

/** A signed root that differs from the log's: events between it and the last matching root were rewritten. */
function fork({ tree, checkpoints }: Evidence): Finding | null {
  const bySize = [...checkpoints].sort((one, other) => one.size - other.size)
  const bad = bySize.find(({ size, root }) => tree.roots.get(size)?.equals(root) !== true)
  if (bad === undefined) return null
  const agreed =
    bySize.filter(({ size, root }) => size < bad.size && tree.roots.get(size)?.equals(root)).at(-1)?.size ?? 0
  const message = `The checkpoint over ${bad.size} events of ${bad.source} does not match the root of the log at that size: the history between event ${agreed} and event ${bad.size} was rewritten.`
  return { kind: 'forked', message, ...NOWHERE }
}
