/**
 * Finds the events of the log that a filter may let through, without those between them: by their types, or in the streams of
 * a resource. What a publisher declares says which; the read model of transactions, which a resource has.
 */
import type { Published } from '../capability.ts'
import type { SubjectType } from '../declarations.ts'
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import type { LogPart } from '../event-log/read-part.ts'
import { comparePlaces, LOG_START } from '../event-log/subscription.ts'
import type { Catalogue } from './catalogue.ts'
import type { FeedFilter } from './feed-event.ts'

export type FindPorts = {
  readonly catalogue: Pick<Catalogue, 'publishers'>
  readonly readTypes: ReadPart<{ readonly types: readonly string[] }>
  readonly readStreams: ReadPart<{ readonly streamIds: readonly string[] }>
  /** The transactions with this subject, which every reader of `until` can see. */
  readonly transactionsOf: (subject: SubjectType, id: string) => Promise<readonly string[]>
}

type ReadPart<Wanted> = (owner: LogOwner, wanted: LogPart & Wanted, limit: number) => Promise<LoggedEvent[]>

/** The next events in reading order, and whether these are the last ones. @param limit about how many are looked at */
export type FindEvents = (
  owner: LogOwner,
  filter: FeedFilter,
  part: LogPart,
  limit: number,
) => Promise<{ readonly events: readonly LoggedEvent[]; readonly areLast: boolean }>

/** So many of each type are looked at, however many types there are. */
const FEWEST = 10

export function createFindEvents(ports: FindPorts): FindEvents {
  const { catalogue, readTypes, readStreams, transactionsOf } = ports

  /** Without an event of the resource's own streams there is no transaction for one. */
  async function subjectsKnown(owner: LogOwner, { resource }: Published, part: LogPart): Promise<boolean> {
    const types = catalogue.publishers.flatMap((one) =>
      one.resource === resource && one.subject === null ? Object.keys(one.events) : [],
    )
    return (await readTypes(owner, { types, after: LOG_START, until: part.until }, 1)).length > 0
  }

  async function typesFor(owner: LogOwner, { types }: FeedFilter, part: LogPart): Promise<string[]> {
    const all = await Promise.all(
      catalogue.publishers.map(async (publisher) => {
        const causing = causesOf(publisher, types)
        const isPossible =
          causing.length > 0 && (publisher.subject === null || (await subjectsKnown(owner, publisher, part)))
        return isPossible ? causing : []
      }),
    )
    return [...new Set(all.flat())]
  }

  async function streamsFor(
    publisher: Published,
    resource: string,
    tenantId: string,
  ): Promise<readonly string[] | null> {
    const { category, subject, mayConcern, streamOf } = publisher
    if (subject !== null) {
      if (!mayConcern('', resource)) return []
      return (await transactionsOf(subject, resource)).map((id) => `${category}-${id}`)
    }
    const id = streamOf(resource, tenantId)
    if (id !== null) return [`${category}-${id}`]
    return mayConcern('', resource) ? null : []
  }

  async function placesOf(owner: LogOwner, { types, resource }: FeedFilter & { readonly resource: string }) {
    const found = { types: new Set<string>(), streamIds: new Set<string>() }
    for (const publisher of catalogue.publishers) {
      const causing = causesOf(publisher, types)
      if (causing.length === 0) continue
      const streams = await streamsFor(publisher, resource, owner.tenantId)
      if (streams === null) for (const type of causing) found.types.add(type)
      else for (const stream of streams) found.streamIds.add(stream)
    }
    return { types: [...found.types], streamIds: [...found.streamIds] }
  }

  return async (owner, filter, part, limit) => {
    const { resource } = filter
    const { types, streamIds } =
      resource === null
        ? { types: await typesFor(owner, filter, part), streamIds: [] }
        : await placesOf(owner, { ...filter, resource })
    const most = Math.max(FEWEST, Math.ceil(limit / Math.max(1, types.length)))
    const found = await Promise.all([
      readTypes(owner, { ...part, types }, most),
      readStreams(owner, { ...part, streamIds }, most),
    ])
    const events = found.flat().sort((a, b) => comparePlaces(a.place, b.place))
    return { events: events.slice(0, most), areLast: events.length < most }
  }
}

/** The events of the log that cause public events of these types. */
function causesOf({ events }: Published, types: FeedFilter['types']): string[] {
  return Object.entries(events).flatMap(([type, caused]) =>
    caused.some((one) => types === null || types.has(one)) ? [type] : [],
  )
}
