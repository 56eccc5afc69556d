/**
 * Folds the log stream by stream: each event through its aggregate and its projection. For each stream it returns the
 * final rows, the holds, and the requests that opened a resource. Only one stream is in memory at a time. A stream ends
 * before an event that cannot be read, and the others go on.
 */
import type { ReadModelKind } from '../core/declaration.ts'
import { mapValues } from '../core/map-values.ts'
import type { Event } from '../core/messages.ts'
import type { ReadModel, Table } from '../core/registry.ts'
import type { Aggregate, AnySchemas, ReadModelChanges } from './aggregate.ts'
import { placeOf } from './chain-check.ts'
import { readNext, startOf } from './read-next.ts'
import type { StreamEvent } from './read-streams.ts'
import { NOTHING_SET_ASIDE, type SetAside } from './set-aside.ts'

/** What the log holds: every aggregate with streams in it, and every read model that follows from them. */
export type LogContents = {
  readonly aggregates: readonly AnyAggregate[]
  readonly readModels: Readonly<Record<ReadModel, ReadModelKind>>
  readonly afterImport: readonly AfterImport[]
}

/** A statement about a table that does not follow from the log, once an import has built the read models. */
export type AfterImport = (nameOf: (table: Table) => string) => string

/** The event types that a program reads, by category of streams, each with its newest schema version. */
export type KnownEvents = ReadonlyMap<string, Readonly<Record<string, number>>>

export function knownEvents(aggregates: readonly AnyAggregate[]): KnownEvents {
  return new Map(
    aggregates.map(({ category, schemas }) => [category, mapValues(schemas as AnySchemas, ({ version }) => version)]),
  )
}

/** A table with one row for each stream of a category. */
export type CheckedModel = {
  readonly table: string
  readonly aggregate: AnyAggregate
  /** SQL expression for the stream of a row `r`. */
  readonly streamOf: string
}

/** Any aggregate; the fold passes each one only its own events. */
export type AnyAggregate = Aggregate<never, never, never>

/** For lists of aggregates of all types. */
export function anyAggregate<State, Command, Evt extends Event>(
  aggregate: Aggregate<State, Command, Evt>,
): AnyAggregate {
  return aggregate as unknown as AnyAggregate
}

/** A stream that ends before one of its events. */
export type HeldStream = {
  readonly streamId: string
  /** The event that cannot be read. */
  readonly streamVersion: number
  /** What is wrong with it, as a sentence. */
  readonly reason: string
}

/** At most these are named; all are counted. */
const MOST_HELD = 100

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
  readonly spends: readonly { readonly counter: string; readonly bucket: string; readonly spent: string }[]
  readonly claims: readonly KeyClaim[]
}

export type Fold = {
  /** Takes the next event in the order of streams and versions. Returns the previous stream when it has ended. */
  readonly take: (event: StreamEvent) => FoldedStream | null
  /** The last stream; `null` when there was none. */
  readonly end: () => FoldedStream | null
  /** The number of events and streams folded so far, and the streams that end before their last event. */
  readonly taken: () => Folded
}

export type Folded = {
  readonly events: number
  readonly streams: number
  readonly position: bigint | null
  /** The first ones. */
  readonly held: readonly HeldStream[]
  readonly heldStreams: number
}

export function createFold({
  aggregates,
  primaryKeys,
  until,
  setAside = NOTHING_SET_ASIDE,
  hashes = false,
}: {
  readonly aggregates: readonly AnyAggregate[]
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  /** Each stream ends before its first event recorded after this time. */
  readonly until?: Date
  readonly setAside?: SetAside
  /** Whether every event's hash is computed too. */
  readonly hashes?: boolean
}): Fold {
  const byCategory = new Map(
    aggregates.map((aggregate) => [aggregate.category, aggregate as unknown as Aggregate<unknown, unknown, Event>]),
  )
  let current: OpenStream | null = null
  let events = 0
  let streams = 0
  let position: bigint | null = null
  let heldStreams = 0
  const held: HeldStream[] = []
  const settings = {
    byCategory,
    primaryKeys,
    setAside,
    hashes,
    onHeld(found: HeldStream) {
      heldStreams += 1
      if (held.length < MOST_HELD) held.push(found)
    },
  }
  return {
    take(event) {
      const ended = current !== null && current.streamId !== event.stream_id ? current.close() : null
      if (current === null || ended !== null) current = openStream(event.stream_id, settings)
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
    taken: () => ({ events, streams, position, held, heldStreams }),
  }
}

type OpenStream = {
  readonly streamId: string
  /** Whether the event was read: false once the stream has ended. */
  readonly take: (event: StreamEvent) => boolean
  /** Ends the stream: it has reached `until`. */
  readonly cut: () => void
  readonly close: () => FoldedStream
}

type OpenSettings = {
  readonly primaryKeys: ReadonlyMap<string, readonly string[]>
  readonly setAside: SetAside
  readonly hashes: boolean
  readonly byCategory: ReadonlyMap<string, Aggregate<unknown, unknown, Event>>
  readonly onHeld: (held: HeldStream) => void
}

function openStream(streamId: string, settings: OpenSettings): OpenStream {
  const dash = streamId.indexOf('-')
  const id = streamId.slice(dash + 1)
  const aggregate = settings.byCategory.get(streamId.slice(0, dash))
  return aggregate === undefined
    ? unknownStream(streamId, settings)
    : knownStream({ streamId, id }, aggregate, settings)
}

/** No part of a stream that no aggregate knows is read. */
function unknownStream(streamId: string, { onHeld, setAside }: OpenSettings): OpenStream {
  let isReported = false
  return {
    streamId,
    take(event) {
      const { stream_version: streamVersion, hash } = event
      if (isReported || setAside.has({ streamId, streamVersion, hash: hash.toString('hex') })) return false
      isReported = true
      const reason = `${placeOf(event)} belongs to a stream that this version of Bursar does not know.`
      onHeld({ streamId, streamVersion, reason })
      return false
    },
    cut: () => undefined,
    close: () => ({ rows: new Map(), holds: [], spends: [], claims: [] }),
  }
}

function knownStream(
  { streamId, id }: { readonly streamId: string; readonly id: string },
  aggregate: Aggregate<unknown, unknown, Event>,
  { primaryKeys, setAside, hashes, onHeld }: OpenSettings,
): OpenStream {
  const part = startOf(aggregate.initialState)
  let isCut = false
  const rows = new Map<string, Map<string, Readonly<Record<string, unknown>>>>()
  const holds = createSums<{ readonly wallet_id: string; readonly asset_id: string }>()
  const spends = createSums<{ readonly counter: string; readonly bucket: string }>()
  const claims: KeyClaim[] = []

  function keep(table: string, row: Readonly<Record<string, unknown>>): void {
    const key = primaryKeys.get(table)
    if (key === undefined)
      throw new Error(`the stream ${streamId} projects a row of ${table}, which is not a read model of the event log`)
    const kept = rows.get(table) ?? new Map<string, Readonly<Record<string, unknown>>>()
    rows.set(table, kept.set(key.map((column) => String(row[column])).join(' '), row))
  }

  function noteClaim(known: Event, { metadata, stream_version: version }: StreamEvent): void {
    const { tenantId, idempotency } = metadata
    const opened = idempotency && aggregate.opens?.(known, { id, version })
    if (!opened) return
    const { key, fingerprint, resourceId } = idempotency
    claims.push({ tenant_id: tenantId, key, fingerprint, resource_id: resourceId ?? opened.id, rank: opened.rank })
  }

  return {
    streamId,
    cut() {
      isCut = true
    },
    take(event) {
      if (isCut || part.held !== null) return false
      const { stream_version: version, metadata } = event
      const before = part.state
      let changes: ReadModelChanges = { rows: [], holds: [] }
      const known = readNext(aggregate, part, event, { hashes, setAside }, (_, after) => {
        changes = aggregate.project(before, after, {
          id,
          tenantId: metadata.tenantId,
          version,
          recordedAt: event.recorded_at.toISOString(),
        })
      })
      if (part.held !== null) {
        if (!part.isSetAside) onHeld({ streamId, streamVersion: version, reason: part.held })
        return false
      }
      for (const { table, row } of changes.rows) keep(table, row)
      if (known === null || !event.fresh) return true
      for (const { walletId, assetId, delta } of changes.holds)
        holds.add({ wallet_id: walletId, asset_id: assetId }, delta)
      for (const { counter, bucket, delta } of changes.spends ?? []) spends.add({ counter, bucket }, delta)
      noteClaim(known, event)
      return true
    },
    close: () => ({
      rows,
      holds: holds.all().map(({ key, sum }) => ({ ...key, held: sum })),
      spends: spends.all().map(({ key, sum }) => ({ ...key, spent: sum })),
      claims,
    }),
  }
}

/** Sums by key. Those of zero make no row, such as the holds of a settled transaction. */
function createSums<Key extends Readonly<Record<string, string>>>() {
  const sums = new Map<string, { readonly key: Key; sum: bigint }>()
  return {
    add(key: Key, delta: bigint): void {
      const name = Object.values(key).join(' ')
      const known = sums.get(name) ?? { key, sum: 0n }
      known.sum += delta
      sums.set(name, known)
    },
    all: () => [...sums.values()].flatMap(({ key, sum }) => (sum === 0n ? [] : [{ key, sum: sum.toString() }])),
  }
}

/** In the order of their names. */
export function readModelNames({ readModels }: Pick<LogContents, 'readModels'>): readonly ReadModel[] {
  return (Object.keys(readModels) as ReadModel[]).sort()
}
