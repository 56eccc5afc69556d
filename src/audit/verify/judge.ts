/** Judges the evidence of a log: intact, or where and how it was changed. Pure. */

import type { HeldStream } from '../../event-log/fold.ts'
import type { BadEvent } from '../chain/chain-check.ts'
import { byPlace } from './chain-shares.ts'
import type { ComparedRows, RowDifference } from './compare-rows.ts'
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
  /** The first problems: those that name an event in the order of the log, then those that only a root shows, then rows. */
  readonly findings: readonly Finding[]
  /** How many problems there are. */
  readonly problems: number
  /** The first bad events that an operator has set aside: they are no problem any more. */
  readonly setAside: readonly Finding[]
  /** Read model rows that were compared with the log. */
  readonly rows: ComparedRows
}

/** At most these problems are named. */
const MOST_NAMED = 100
const NOWHERE = { position: null, streamId: null, streamVersion: null } as const

export function judge(evidence: Evidence, rows: ComparedRows): LogVerdict {
  const { tree, checkpoints, bad, badEvents, setAside } = evidence
  const good = checkpoints.filter(({ size, root }) => tree.roots.get(size)?.equals(root) === true)
  const isSetAside = (event: BadEvent) => setAside.has(event)
  const events = eventFindings(
    evidence,
    bad.filter((event) => !isSetAside(event)),
  )
  const unread = rows.held.filter(({ streamId, streamVersion }) => !namesEvent(events, streamId, streamVersion))
  const others = [...(signedFinding(evidence) ?? []), ...rows.differences.map(rowFinding)]
  const findings = [...events, ...unread.map(unreadFinding), ...others]
  const hidden = badEvents - bad.length + rows.heldStreams - rows.held.length
  return {
    events: tree.size,
    root: tree.root,
    checkpoints: good.length,
    findings: findings.slice(0, MOST_NAMED),
    problems: findings.length + hidden,
    setAside: bad
      .filter(isSetAside)
      .slice(0, MOST_NAMED)
      .map((event) => eventFinding(event, 'bad_event')),
    rows,
  }
}

/** Every event that is wrong by its chain, and the first one that differs from the tree, in the order of the log. */
function eventFindings(evidence: Evidence, bad: readonly BadEvent[]): Finding[] {
  const { difference } = evidence.tree
  const found = bad.map((event) => ({ event, kind: event.followsGap ? ('removed' as const) : ('bad_event' as const) }))
  const isTampered = difference !== null && !isVouchedFor(evidence, difference.index)
  const isNamed = bad.some(({ place }) => place.position === difference?.event.place.position)
  if (isTampered && !isNamed) found.push({ event: badEventOf(difference), kind: difference.kind as 'removed' })
  return found.sort((one, other) => byPlace(one.event, other.event)).map(({ event, kind }) => eventFinding(event, kind))
}

function namesEvent(findings: readonly Finding[], streamId: string, streamVersion: number): boolean {
  return findings.some((one) => one.streamId === streamId && one.streamVersion === streamVersion)
}

function unreadFinding({ streamId, streamVersion, reason }: HeldStream): Finding {
  return { kind: 'bad_event', message: reason, position: null, streamId, streamVersion }
}

function rowFinding({ message }: RowDifference): Finding {
  return { kind: 'row_differs', message, ...NOWHERE }
}

/** What only the signed roots or the stored tree show. */
function signedFinding(evidence: Evidence): Finding[] | null {
  const signed = truncation(evidence) ?? fork(evidence)
  if (signed !== null) return [signed]
  const { difference } = evidence.tree
  if (difference === null || !isVouchedFor(evidence, difference.index)) return null
  const message = `The tree in the table audit_tiles is damaged at leaf ${difference.index}; the log itself matches the checkpoints.`
  return [{ kind: 'tree_damaged', message, ...NOWHERE }]
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
  return { ...event, followsGap: false, problem: LEAF_PROBLEMS[kind](index) }
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
