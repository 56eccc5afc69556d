/**
 * Renders public events. They follow from the log alone: an event that is rendered again after years has the same
 * bytes, so they are not stored.
 */
import type { Published, PublishSource } from '../capability.ts'
import { type EventName, publicEventIdOf } from '../core/event-ids.ts'
import type { Event, RecordedEvent } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { upcast } from '../event-log/aggregate.ts'
import type { AnyAggregate } from '../event-log/fold.ts'
import type { LoggedEvent, StreamRange } from '../event-log/read-logged.ts'
import { type EventRow, toRecorded } from '../event-log/rows.ts'
import type { Catalogue } from './catalogue.ts'

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
export type RenderedEvent = { readonly event: PublicEvent; readonly index: number; readonly scope: string }

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

export type RenderPorts = {
  readonly catalogue: Catalogue
  readonly aggregates: readonly AnyAggregate[]
  readonly readRanges: (ranges: readonly StreamRange[]) => Promise<readonly EventRow[]>
}

/** More rounds would mean that the first event of a stream needs itself. */
const MOST_ROUNDS = 4

export function createRender({ catalogue, aggregates, readRanges }: RenderPorts): Render {
  const schemas = new Map(aggregates.map((aggregate) => [aggregate.category, aggregate.schemas]))

  function toKnown(row: EventRow): RecordedEvent {
    const known = schemas.get(categoryOf(row.stream_id))
    if (known === undefined) throw new Error(`no aggregate reads the stream ${row.stream_id}`)
    return toRecorded(row, upcast<Event>(known, row.type, row.schema_version, row.data))
  }

  /** The publishers that an event may concern. */
  function publishersFor({ streamId, type }: LoggedEvent): readonly Published[] {
    return catalogue.publishersOf(categoryOf(streamId)).filter(({ events }) => (events[type] ?? []).length > 0)
  }

  return async (logged, isWanted = () => true) => {
    const wanted = logged.map((event) => {
      const publishers = publishersFor(event).filter((publisher) => isWanted(publisher, event))
      return { event, publishers }
    })
    const known = createKnown()
    known.add((await readRanges(rangesOf(wanted))).map(toKnown))
    const sources = wanted.map(({ event, publishers }) =>
      publishers.map((publisher) => ({ event, publisher, source: sourceOf(event, publisher, known) })),
    )
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const related = sources.flat().flatMap(({ publisher, source }) => publisher.related(source as never))
      const missing = [...new Set(related)].filter((streamId) => !known.has(streamId))
      if (missing.length === 0) break
      known.add((await readRanges(missing.map((streamId) => ({ streamId, from: 1, to: 1 })))).map(toKnown))
      known.note(missing)
    }
    return sources.map((each) => each.flatMap(renderOne).sort((a, b) => a.index - b.index))
  }
}

type Known = ReturnType<typeof createKnown>

/** The events that were read. */
function createKnown() {
  const streams = new Map<string, Map<number, RecordedEvent>>()
  const ordered = new Map<string, readonly RecordedEvent[]>()
  const of = (streamId: string) => {
    const stream = streams.get(streamId) ?? new Map<number, RecordedEvent>()
    streams.set(streamId, stream)
    return stream
  }
  return {
    add(events: readonly RecordedEvent[]) {
      for (const event of events) of(event.streamId).set(event.streamVersion, event)
      ordered.clear()
    },
    /** Streams that were looked for, whether they exist or not. */
    note(streamIds: readonly string[]) {
      for (const streamId of streamIds) of(streamId)
    },
    has: (streamId: string) => streams.has(streamId) && (of(streamId).has(1) || of(streamId).size === 0),
    at: ({ streamId, streamVersion }: EventName) => of(streamId).get(streamVersion),
    /** The first events of the stream, sorted once for all that are rendered. */
    upTo({ streamId, streamVersion }: EventName): readonly RecordedEvent[] {
      const events =
        ordered.get(streamId) ?? [...of(streamId).values()].sort((a, b) => a.streamVersion - b.streamVersion)
      ordered.set(streamId, events)
      return events.slice(0, streamVersion)
    },
  }
}

function sourceOf(
  { streamId, streamVersion, tenantId }: LoggedEvent,
  { whole }: Published,
  known: Known,
): PublishSource {
  const own = known.at({ streamId, streamVersion })
  const events = whole ? known.upTo({ streamId, streamVersion }) : own === undefined ? [] : [own]
  if (events.length !== (whole ? streamVersion : 1))
    throw new Error(`the events of ${streamId} up to ${streamVersion} are not all in the log`)
  return {
    id: streamId.slice(streamId.indexOf('-') + 1),
    tenantId,
    events,
    firstOf: (other) => known.at({ streamId: other, streamVersion: 1 }),
  }
}

function renderOne(of: {
  readonly event: LoggedEvent
  readonly publisher: Published
  readonly source: PublishSource
}): RenderedEvent[] {
  const { event, publisher, source } = of
  const { streamId, streamVersion, recordedAt: timestamp, environment } = event
  return (publisher.events[event.type] ?? []).flatMap((type, i) => {
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

/** One range for each stream that somebody publishes. */
function rangesOf(
  wanted: readonly { readonly event: LoggedEvent; readonly publishers: readonly Published[] }[],
): StreamRange[] {
  const ranges = new Map<string, StreamRange>()
  for (const { event, publishers } of wanted) {
    const { streamId, streamVersion } = event
    for (const { whole } of publishers) {
      const range = ranges.get(streamId)
      const from = whole ? 1 : streamVersion
      ranges.set(streamId, {
        streamId,
        from: Math.min(range?.from ?? from, from),
        to: Math.max(range?.to ?? 0, streamVersion),
      })
    }
  }
  return [...ranges.values()]
}

function categoryOf(streamId: string): string {
  return streamId.slice(0, streamId.indexOf('-'))
}
