/**
 * Folds the log stream by stream: each event through its aggregate and its projection. For each stream it returns the
 * final rows, the holds, and the requests that opened a resource. Only one stream is in memory at a time.
 */
import { BursarError } from '../core/errors.ts'
import type { Event } from '../core/messages.ts'
import { type Aggregate, upcast } from './aggregate.ts'
import type { StreamEvent } from './read-streams.ts'

/** Any aggregate; the fold passes each one only its own events. */
export type AnyAggregate = Aggregate<never, never, never>

/** For lists of aggregates of all types. */
export function anyAggregate<State, Command, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
): AnyAggregate {
  return aggregate as unknown as AnyAggregate
}

/** The log holds an event that this version of Bursar does not know. */
class UnknownEvent extends BursarError {
  override readonly type = 'conflict'
  override readonly code = 'unknown_event'
}

/** What a client's request created, from one stream. Of several claims on a key, the lowest rank counts. */
export type KeyClaim = {
  readonly tenant_id: string
  readonly key: string
  readonly fingerprint: string
  readonly resource_id: string
  readonly rank: number
}

export type FoldedStream = {
  /** By table, then by primary key. */
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, Readonly<Record<string, unknown>>>>
  readonly holds: readonly { readonly wallet_id: string; readonly asset_id: string; readonly held: string }[]
  readonly claims: readonly KeyClaim[]
}

export type Fold = {
  /** Takes the next event in the order of streams and versions. Returns the previous stream when it has ended. */
  readonly take: (event: StreamEvent) => FoldedStream | null
  /** The last stream; `null` when there was none. */
  readonly end: () => FoldedStream | null
  /** The number of events and streams folded so far. */
  readonly taken: () => { readonly events: number; readonly streams: number; readonly position: bigint | null }
}

export type FoldSettings = {
  readonly aggregates: readonly AnyAggregate[]
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  /** Each stream ends before its first event recorded after this time. */
  readonly until?: Date
}

/** @throws UnknownEvent (from `take`) for a stream, type or version that no aggregate knows */
export function createFold({ aggregates, primaryKeys, until }: FoldSettings): Fold {
  const byCategory = new Map(
    aggregates.map((aggregate) => [aggregate.category, aggregate as unknown as Aggregate<unknown, unknown, Event>]),
  )
  let current: OpenStream | null = null
  let events = 0
  let streams = 0
  let position: bigint | null = null
  return {
    take(event) {
      const ended = current !== null && current.streamId !== event.stream_id ? current.close() : null
      if (current === null || ended !== null) current = openStream(event, byCategory, primaryKeys)
      if (until !== undefined && event.recorded_at > until) current.cut()
      if (current.take(event)) {
        events += 1
        const at = BigInt(event.position)
        if (position === null || at > position) position = at
        if (event.stream_version === 1) streams += 1
      }
      return ended
    },
    end() {
      const ended = current?.close() ?? null
      current = null
      return ended
    },
    taken: () => ({ events, streams, position }),
  }
}

type OpenStream = {
  readonly streamId: string
  /** False once the stream has reached `until`. */
  readonly take: (event: StreamEvent) => boolean
  readonly cut: () => void
  readonly close: () => FoldedStream
}

function openStream(
  { stream_id: streamId, position }: StreamEvent,
  byCategory: ReadonlyMap<string, Aggregate<unknown, unknown, Event>>,
  primaryKeys: ReadonlyMap<string, readonly string[]>,
): OpenStream {
  const dash = streamId.indexOf('-')
  const id = streamId.slice(dash + 1)
  const aggregate = byCategory.get(streamId.slice(0, dash))
  if (aggregate === undefined) {
    throw new UnknownEvent(
      `Event ${position} belongs to the stream ${streamId}, which this version of Bursar does not know: use a newer version.`,
    )
  }
  let state = aggregate.initialState
  let isCut = false
  const rows = new Map<string, Map<string, Readonly<Record<string, unknown>>>>()
  const holds = createHolds()
  const claims: KeyClaim[] = []

  function keep(table: string, row: Readonly<Record<string, unknown>>): void {
    const key = primaryKeys.get(table)
    if (key === undefined)
      throw new Error(`the stream ${streamId} projects a row of ${table}, which is not a read model of the event log`)
    const kept = rows.get(table) ?? new Map<string, Readonly<Record<string, unknown>>>()
    rows.set(table, kept.set(key.map((column) => String(row[column])).join(' '), row))
  }

  return {
    streamId,
    cut() {
      isCut = true
    },
    take(event) {
      if (isCut) return false
      const known = read(aggregate, event)
      const after = aggregate.evolve(state, known)
      const { stream_version: version, metadata } = event
      const changes = aggregate.project(state, after, {
        id,
        tenantId: metadata.tenantId,
        version,
        recordedAt: event.recorded_at.toISOString(),
      })
      state = after
      for (const { table, row } of changes.rows) keep(table, row)
      if (!event.fresh) return true
      for (const { walletId, assetId, delta } of changes.holds) holds.add(walletId, assetId, delta)
      const { tenantId, idempotency } = metadata
      const opened = idempotency && aggregate.opens?.(known, { id, version })
      if (!opened) return true
      const { key, fingerprint, resourceId } = idempotency
      claims.push({ tenant_id: tenantId, key, fingerprint, resource_id: resourceId ?? opened.id, rank: opened.rank })
      return true
    },
    close: () => ({ rows, holds: holds.all(), claims }),
  }
}

function read(aggregate: Aggregate<unknown, unknown, Event>, event: StreamEvent): Event {
  const { type, schema_version: version, data } = event
  try {
    return upcast<Event>(aggregate.schemas, type, version, data)
  } catch (cause) {
    const place = `Event ${event.position} (${event.stream_id}, version ${event.stream_version})`
    throw new UnknownEvent(
      `${place} is ${type} in schema version ${version}, which this version of Bursar does not know: use a newer version.`,
      {
        cause,
      },
    )
  }
}

/** The holds of a settled transaction sum to zero and make no row. */
function createHolds() {
  const sums = new Map<string, { readonly wallet_id: string; readonly asset_id: string; held: bigint }>()
  return {
    add(walletId: string, assetId: string, delta: bigint): void {
      const account = `${walletId} ${assetId}`
      const sum = sums.get(account) ?? { wallet_id: walletId, asset_id: assetId, held: 0n }
      sum.held += delta
      sums.set(account, sum)
    },
    all: () =>
      [...sums.values()].filter(({ held }) => held !== 0n).map((sum) => ({ ...sum, held: sum.held.toString() })),
  }
}
