/**
 * Recomputes the hash chain of every stream while the log is read in order. Keeps the newest hash of recently seen
 * streams and queries the others, so memory does not grow with the log.
 */
import { hash as digest } from 'node:crypto'
import { canonicalText } from '../../event-log/canonical-text.ts'
import type { KnownEvents } from '../../event-log/fold.ts'
import { eventText } from '../../event-log/hash-chain.ts'
import type { SubscriptionPosition } from '../../event-log/subscription.ts'
import type { Row } from '../../event-log/table-rows.ts'
import type { LogRow, Queryable } from './log-rows.ts'

/** An event that differs from what was recorded, or that no version of Bursar recorded. */
export type BadEvent = {
  readonly place: SubscriptionPosition
  readonly streamId: string
  readonly streamVersion: number
  /** Hex. */
  readonly hash: string
  /** Whether events before it are missing in its stream. */
  readonly followsGap: boolean
  /** What is wrong with it, completing a sentence that starts with the event. */
  readonly problem: string
}

export type ChainCheck = {
  /** Checks the next rows of the log. A bad event does not make those behind it bad. */
  readonly check: (rows: readonly LogRow[]) => Promise<readonly BadEvent[]>
}

type Head = { readonly version: number; readonly hash: string }

/** Streams in each of two cache generations: about 30 MB. */
const STREAMS_KEPT = 65_536
const NO_HEAD: Head = { version: 0, hash: '' }

/** @param known to report events of other types and schema versions too */
export function createChainCheck(database: Queryable, known: KnownEvents | null = null): ChainCheck {
  let young = new Map<string, Head>()
  let old = new Map<string, Head>()

  const headOf = (streamId: string) => young.get(streamId) ?? old.get(streamId)

  /** Only between batches: a stream must stay cached while its rows are checked. */
  function makeRoom(): void {
    if (young.size < STREAMS_KEPT) return
    old = young
    young = new Map()
  }

  async function recall(rows: readonly LogRow[]): Promise<void> {
    const firsts = new Map<string, LogRow>()
    for (const row of rows) if (!firsts.has(row.streamId)) firsts.set(row.streamId, row)
    const forgotten = [...firsts.values()].filter(
      ({ streamId, streamVersion }) => streamVersion > 1 && headOf(streamId) === undefined,
    )
    if (forgotten.length === 0) return
    for (const [streamId, head] of await headsBefore(database, forgotten)) young.set(streamId, head)
  }

  return {
    async check(rows) {
      makeRoom()
      await recall(rows)
      const bad: BadEvent[] = []
      for (const row of rows) {
        const { streamId, streamVersion, hash, place } = row
        const before = headOf(streamId) ?? NO_HEAD
        const problem = problemOf(row, before) ?? (known && unknownProblem(row, known))
        const followsGap = streamVersion > before.version + 1
        if (problem !== null) bad.push({ place, streamId, streamVersion, hash, followsGap, problem })
        if (streamVersion > before.version) young.set(streamId, { version: streamVersion, hash })
      }
      return bad
    },
  }
}

/** The chain hash of a row after `previous`, over its data and metadata as they are stored. Hex. */
export function chainHashOf(row: LogRow, previous: string): string {
  const text = eventText({
    ...row,
    schemaVersion: Number(row.schemaVersion),
    recordedAt: toInstantText(row.recordedAt),
  })
  return digest('sha256', `${previous}\n${text}`, 'hex')
}

/** Events from before their text was stored have the hash of their canonical text. */
function isCanonicalHash(row: LogRow, previous: string): boolean {
  try {
    const canonical = { ...row, data: canonicalText(row.data), metadata: canonicalText(row.metadata) }
    return chainHashOf(canonical, previous) === row.hash
  } catch {
    return false // The text was changed, and is neither what jsonb prints nor without spaces.
  }
}

/** Converts `2026-01-01 00:00:00.5` to ISO 8601 in UTC with milliseconds. */
export function toInstantText(timestamp: string): string {
  const [, day, time, fraction = ''] = /^(\S+) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?$/.exec(timestamp) ?? []
  return `${day}T${time}.${fraction.padEnd(3, '0')}Z`
}

function problemOf(row: LogRow, before: Head): string | null {
  const { streamVersion } = row
  const expected = before.version + 1
  if (streamVersion > expected) {
    const missing =
      streamVersion - 1 === expected ? `version ${expected}` : `versions ${expected} to ${streamVersion - 1}`
    return `follows a gap in its stream (${missing} missing): an event was removed or reordered`
  }
  if (streamVersion < expected) {
    return `comes after version ${before.version} of its stream: an event was inserted or reordered`
  }
  if (chainHashOf(row, before.hash) === row.hash || isCanonicalHash(row, before.hash)) return null
  return 'does not match its recorded hash: it was changed or forged'
}

function unknownProblem({ streamId, type, schemaVersion }: LogRow, known: KnownEvents): string | null {
  const newest = known.get(streamId.slice(0, streamId.indexOf('-')))?.[type]
  const version = Number(schemaVersion)
  if (newest !== undefined && version >= 1 && version <= newest) return null
  return `is ${type} in schema version ${schemaVersion}, which this version of Bursar does not know`
}

/** The newest event of each stream before the first of these rows, for streams that left the cache. */
async function headsBefore(database: Queryable, rows: readonly LogRow[]): Promise<[string, Head][]> {
  const result = await (database as Pick<import('pg').Pool, 'query'>).query<
    Pick<Row<'events'>, 'stream_id'> & { version: Row<'events'>['stream_version']; hash: string }
  >({
    name: 'audit_heads_before',
    text: `SELECT e.stream_id, e.stream_version AS version, encode(e.hash, 'hex') AS hash
             FROM unnest($1::text[], $2::xid8[], $3::bigint[]) AS wanted(stream_id, transaction_id, position)
            CROSS JOIN LATERAL (SELECT stream_id, stream_version, hash FROM events v WHERE v.stream_id = wanted.stream_id
                AND (v.transaction_id, v.position) < (wanted.transaction_id, wanted.position)
              ORDER BY v.stream_version DESC LIMIT 1) AS e`,
    values: [
      rows.map(({ streamId }) => streamId),
      rows.map(({ place }) => place.transactionId.toString()),
      rows.map(({ place }) => place.position.toString()),
    ],
  })
  return result.rows.map(({ stream_id, version, hash }) => [stream_id, { version, hash }])
}
