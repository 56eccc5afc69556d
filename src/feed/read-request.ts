/** Reads what a client asks of the feed: where to continue, and which events. */
import { closest } from '../core/closest.ts'
import { ValidationFailed } from '../core/errors.ts'
import { parsePublicEventId } from '../core/event-ids.ts'
import { findLogged, type LogOwner } from '../event-log/read-logged.ts'
import { LOG_START } from '../event-log/subscription.ts'
import type { Catalogue } from './catalogue.ts'
import type { Cursor } from './cursor.ts'
import type { FeedFilter } from './feed-event.ts'
import type { FeedContext } from './render.ts'

export type FeedQuery = { readonly after?: string; readonly types?: string; readonly resource?: string }

/** Where a reader continues: after an event with this id, or null at the oldest one. */
export type Start = { readonly cursor: Cursor; readonly id: string | null }

/**
 * @param field where the client sent the id
 * @throws ValidationFailed `unknown_event` for an event that the owner does not have
 */
export async function findStart(
  { pool, catalogue }: Pick<FeedContext, 'pool' | 'catalogue'>,
  owner: LogOwner,
  after: string | undefined,
  field: 'after' | 'Last-Event-ID' = 'after',
): Promise<Start> {
  if (after === undefined) return { cursor: { place: LOG_START, index: Number.POSITIVE_INFINITY }, id: null }
  const name = parsePublicEventId(after)
  const logged = name && (await findLogged(pool, owner, name))
  if (name === undefined || logged === undefined) {
    const message =
      `${field} must be the id of one of your events: omit it to start with the oldest event, or read your lists ` +
      'again and continue after their as_of_event.'
    throw ValidationFailed.field(field, 'unknown_event', message)
  }
  const index = name.index >= catalogue.lastIndexOf(logged) ? Number.POSITIVE_INFINITY : name.index
  return { cursor: { place: logged.place, index }, id: after }
}

/** @throws ValidationFailed `unknown_event_type`, with the nearest type */
export function readFilter({ types, resource }: FeedQuery, catalogue: Catalogue): FeedFilter {
  return { types: types === undefined ? null : readTypes(types, catalogue), resource: resource ?? null }
}

function readTypes(text: string, catalogue: Catalogue): ReadonlySet<string> {
  const known = catalogue.types.map(({ type }) => type)
  const wanted = text.split(',').map((type) => type.trim())
  const items = wanted.flatMap((type) => {
    if (known.includes(type)) return []
    const meant = closest(type, known)
    const hint = meant === undefined ? 'The section Event types of /docs lists them.' : `Did you mean ${meant}?`
    const message = `types must be a comma-separated list of event types: ${JSON.stringify(type)} is not one. ${hint}`
    return [{ field: 'types', code: 'unknown_event_type', message }]
  })
  if (items.length > 0) throw new ValidationFailed(items)
  return new Set(wanted)
}
