/**
 * Renders public events. They follow from the log alone: an event that is rendered again after years has the same
 * bytes, so they are not stored. An event that cannot be read causes none, is reported, and stops no other.
 */
import type { FirstEvent, Published, PublishSource } from '../capability.ts'
import type { Context } from '../context.ts'
import { type EventName, publicEventIdOf } from '../core/event-ids.ts'
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { Guard } from '../core/scopes.ts'
import { upcast } from '../event-log/aggregate.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import { type LoggedEvent, placeOf, type RangeRow, type StreamRange } from '../event-log/read-logged.ts'
import { comparePlaces, type SubscriptionPosition } from '../event-log/subscription.ts'
import { type Catalogue, categoryOf } from './catalogue.ts'
import { createCheckpoints } from './checkpoints.ts'
import { type Folded, foldStreams, MOST_READ } from './fold-streams.ts'

/** What a tenant is told. The order of the fields is that of the JSON. */
export type PublicEvent = {
  readonly id: string
  /** `transaction.mined`. */
  readonly type: string
  /** When the event of the log was recorded, ISO 8601. */
  readonly timestamp: string
  readonly api_version: '1'
  readonly environment: Environment
  /** `version`: of the stream that the id names. */
  readonly resource: { readonly type: string; readonly id: string; readonly version: number }
  readonly data: unknown
}

/** With the scope that its data needs. */
export type RenderedEvent = { readonly event: PublicEvent; readonly index: number; readonly scope: Guard }

/** Whether the public events of a publisher are wanted of this event of the log. */
export type Wanted = (publisher: Published, logged: LoggedEvent) => boolean

/**
 * @param isWanted by default all are
 * @returns for each event of the log its public events, often none
 */
export type Render = (
  logged: readonly LoggedEvent[],
  isWanted?: Wanted,
) => Promise<readonly (readonly RenderedEvent[])[]>

/** What reading the feed needs. */
export type FeedContext = Pick<Context, 'pool'> & { readonly catalogue: Catalogue; readonly render: Render }

/** At most so many events of each range. */
type ReadRanges = (ranges: readonly StreamRange[], mostOfEach: number) => Promise<readonly RangeRow[]>

/** More rounds would mean that the first event of a stream needs itself. */
const MOST_ROUNDS = 4
/** Of any stream: versions are integers of 32 bits. */
const LAST_VERSION = 2 ** 31 - 1
const CHECKPOINT_BYTES = 16 * 1_024 * 1_024

type Source = { readonly logged: LoggedEvent; readonly publisher: Published; readonly source: PublishSource }
type Firsts = Map<string, FirstEvent | undefined>
type Earlier = Map<string, { readonly place: SubscriptionPosition; readonly event: Event }[]>

export function createRender({
  catalogue,
  aggregates,
  readRanges,
  onUnreadable,
  checkpointBytes = CHECKPOINT_BYTES,
}: {
  readonly catalogue: Catalogue
  readonly aggregates: readonly AnyAggregate[]
  readonly readRanges: ReadRanges
  /** Called for an event whose public events are left out. Must not throw. */
  readonly onUnreadable: (event: EventName, error: unknown) => void
  /** For states of streams, in memory, estimated. */
  readonly checkpointBytes?: number
}): Render {
  const schemas = new Map(aggregates.map((aggregate) => [aggregate.category, aggregate.schemas]))
  const folding = {
    foldOf: (streamId: string) => catalogue.foldOf(categoryOf(streamId)),
    checkpoints: createCheckpoints(checkpointBytes),
    readRanges: async (ranges: readonly StreamRange[]) =>
      (await readRanges(ranges, MOST_READ)).map((row) => ({
        streamId: row.stream_id,
        streamVersion: row.stream_version,
        hash: row.hash,
        event: toEvent(row),
      })),
  }

  function toEvent({ stream_id, stream_version, type, schema_version, data }: RangeRow): Event | null {
    try {
      const known = schemas.get(categoryOf(stream_id))
      if (known === undefined) throw new Error(`no aggregate reads the stream ${stream_id}`)
      return upcast<Event>(known, type, schema_version, data)
    } catch (error) {
      onUnreadable({ streamId: stream_id, streamVersion: stream_version }, error)
      return null
    }
  }

  function attempt<T>(event: EventName, otherwise: T, work: () => T): T {
    try {
      return work()
    } catch (error) {
      onUnreadable(event, error)
      return otherwise
    }
  }

  async function readFirsts(sources: readonly Source[], firsts: Firsts): Promise<void> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const missing = new Set<string>()
      for (const { logged, publisher, source } of sources)
        for (const streamId of attempt(logged, [], () => publisher.related(source as never)))
          if (!firsts.has(streamId)) missing.add(streamId)
      if (missing.size === 0) return
      for (const streamId of missing) firsts.set(streamId, undefined)
      for (const row of await readRanges(
        [...missing].map((streamId) => ({ streamId, from: 1, to: 1 })),
        1,
      )) {
        const event = toEvent(row)
        if (event !== null) firsts.set(row.stream_id, { ...event, recordedAt: row.recorded_at.toISOString() })
      }
    }
  }

  return async (logged, isWanted = () => true) => {
    const wanted = logged.map((event) =>
      catalogue.publishersFor(event).filter((publisher) => isWanted(publisher, event)),
    )
    const causing = logged.filter((_, n) => (wanted[n] ?? []).length > 0)
    const foldedAt = await foldStreams(folding, causing)
    const firsts: Firsts = new Map()
    const firstOf = (streamId: string) => firsts.get(streamId)
    const earlier: Earlier = new Map()
    const sources = logged.map((event, n): Source[] => {
      const publishers = wanted[n] ?? []
      if (publishers.length === 0) return []
      const { streamId, tenantId, streamVersion: version, recordedAt } = event
      const id = streamId.slice(streamId.indexOf('-') + 1)
      const folded: Folded | null = foldedAt(event)
      if (folded === null) return []
      const { event: own, first, before, after } = folded
      const earlierOf = (of: string) =>
        (earlier.get(of) ?? []).filter(({ place }) => comparePlaces(place, event.place) < 0).map((one) => one.event)
      const stream = { id, tenantId, version, recordedAt, event: own, first, before, after }
      const source = { ...stream, firstOf, earlierOf } as PublishSource
      return publishers.map((publisher) => ({ logged: event, publisher, source }))
    })
    await readFirsts(sources.flat(), firsts)
    const wantedEarlier = sources
      .flat()
      .flatMap(({ logged, publisher, source }) => attempt(logged, [], () => publisher.earlier(source as never)))
    await readEarlier({ readRanges, toEvent }, wantedEarlier, earlier)
    return sources.map((each) =>
      each.flatMap((one) => attempt(one.logged, [], () => renderOne(one))).sort((a, b) => a.index - b.index),
    )
  }
}

async function readEarlier(
  { readRanges, toEvent }: { readonly readRanges: ReadRanges; readonly toEvent: (row: RangeRow) => Event | null },
  wanted: readonly string[],
  earlier: Earlier,
): Promise<void> {
  if (wanted.length === 0) return
  const ranges = [...new Set(wanted)].map((streamId) => ({ streamId, from: 1, to: LAST_VERSION }))
  for (const row of await readRanges(ranges, MOST_READ)) {
    const event = toEvent(row)
    if (event === null) continue
    const own = earlier.get(row.stream_id) ?? []
    own.push({ place: placeOf(row), event })
    earlier.set(row.stream_id, own)
  }
}

function renderOne({ logged, publisher, source }: Source): RenderedEvent[] {
  const { streamId, streamVersion, recordedAt: timestamp, environment } = logged
  return (publisher.events[logged.type] ?? []).flatMap((type, i) => {
    const facts = publisher.render(source as never, type as never)
    if (facts === null) return []
    const index = publisher.firstIndex + i
    const rendered: PublicEvent = {
      id: publicEventIdOf({ streamId, streamVersion, index }),
      type,
      timestamp,
      api_version: '1',
      environment,
      resource: { type: publisher.resource, id: facts.resourceId, version: streamVersion },
      data: facts.data,
    }
    return [{ event: rendered, index, scope: publisher.scope }]
  })
}
