/**
 * Finds the events of the log that a filter may let through, without those between them: by their types, or in the streams of
 * a resource. What a publisher declares says which; the read model of transactions, which a resource has.
 */
import type { Pool } from 'pg'
import type { Published } from '../capability.ts'
import type { LoggedEvent, LogOwner } from '../event-log/read-logged.ts'
import { type LogPart, readTenantStreams, readTenantTypes } from '../event-log/read-part.ts'
import { comparePlaces, LOG_START } from '../event-log/subscription.ts'
import { transactionsOf } from '../transactions/read-transactions.ts'
import type { FeedFilter } from './feed-event.ts'
import type { FeedContext } from './render.ts'

/** So many of each type are looked at, however many types there are. */
const FEWEST = 10

/** The next events in reading order, and whether these are the last ones. @param limit about how many are looked at */
export async function findEvents(
  ctx: Pick<FeedContext, 'pool' | 'catalogue'>,
  owner: LogOwner,
  filter: FeedFilter,
  part: LogPart,
  limit: number,
): Promise<{ readonly events: readonly LoggedEvent[]; readonly areLast: boolean }> {
  const { pool } = ctx
  const { resource } = filter
  const { types, streamIds } =
    resource === null
      ? { types: await typesFor(ctx, owner, filter, part), streamIds: [] }
      : await placesOf(ctx, owner, { ...filter, resource })
  const most = Math.max(FEWEST, Math.ceil(limit / Math.max(1, types.length)))
  const found = await Promise.all([
    readTenantTypes(pool, owner, { ...part, types }, most),
    readTenantStreams(pool, owner, { ...part, streamIds }, most),
  ])
  const events = found.flat().sort((a, b) => comparePlaces(a.place, b.place))
  return { events: events.slice(0, most), areLast: events.length < most }
}

async function typesFor(
  ctx: Pick<FeedContext, 'pool' | 'catalogue'>,
  owner: LogOwner,
  { types }: FeedFilter,
  part: LogPart,
): Promise<string[]> {
  const all = await Promise.all(
    ctx.catalogue.publishers.map(async (publisher) => {
      const causing = causesOf(publisher, types)
      const isPossible =
        causing.length > 0 && (publisher.subject === null || (await subjectsKnown(ctx, owner, publisher, part)))
      return isPossible ? causing : []
    }),
  )
  return [...new Set(all.flat())]
}

/** Without an event of the resource's own streams there is no transaction for one. */
async function subjectsKnown(
  { pool, catalogue }: Pick<FeedContext, 'pool' | 'catalogue'>,
  owner: LogOwner,
  { resource }: Published,
  part: LogPart,
): Promise<boolean> {
  const types = catalogue.publishers.flatMap((one) =>
    one.resource === resource && one.subject === null ? Object.keys(one.events) : [],
  )
  return (await readTenantTypes(pool, owner, { types, after: LOG_START, until: part.until }, 1)).length > 0
}

async function placesOf(
  { pool, catalogue }: Pick<FeedContext, 'pool' | 'catalogue'>,
  owner: LogOwner,
  { types, resource }: FeedFilter & { readonly resource: string },
) {
  const found = { types: new Set<string>(), streamIds: new Set<string>() }
  for (const publisher of catalogue.publishers) {
    const causing = causesOf(publisher, types)
    if (causing.length === 0) continue
    const streams = await streamsFor(pool, publisher, resource, owner.tenantId)
    if (streams === null) for (const type of causing) found.types.add(type)
    else for (const stream of streams) found.streamIds.add(stream)
  }
  return { types: [...found.types], streamIds: [...found.streamIds] }
}

async function streamsFor(
  pool: Pool,
  { category, subject, mayConcern, streamOf }: Published,
  resource: string,
  tenantId: string,
): Promise<readonly string[] | null> {
  if (subject !== null) {
    if (!mayConcern('', resource)) return []
    // Every reader of the log up to `until` can see these transactions.
    return (await transactionsOf(pool, subject, resource)).map((id) => `${category}-${id}`)
  }
  const id = streamOf(resource, tenantId)
  if (id !== null) return [`${category}-${id}`]
  return mayConcern('', resource) ? null : []
}

/** The events of the log that cause public events of these types. */
function causesOf({ events }: Published, types: FeedFilter['types']): string[] {
  return Object.entries(events).flatMap(([type, caused]) =>
    caused.some((one) => types === null || types.has(one)) ? [type] : [],
  )
}
