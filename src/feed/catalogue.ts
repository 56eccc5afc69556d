/** Every public event type, and who publishes it. Types are what capabilities publish: there is no other list. */
import type { AnyFold, Published } from '../capability.ts'

export type PublicType = {
  readonly type: string
  readonly description: string
  readonly publisher: Published
}

export type Catalogue = {
  /** In the order of the publishers. */
  readonly types: readonly PublicType[]
  readonly publishers: readonly Published[]
  /** The publishers of the streams of a category. */
  readonly publishersOf: (category: string) => readonly Published[]
  /** The publishers that an event of the log may concern. */
  readonly publishersFor: (event: { readonly streamId: string; readonly type: string }) => readonly Published[]
  /** How the streams of a category are folded for its publishers; null if their events are read alone. */
  readonly foldOf: (category: string) => AnyFold | null
  /** The largest index that a public event of this event of the log can have. */
  readonly lastIndexOf: (event: { readonly streamId: string; readonly type: string }) => number
}

/**
 * @throws Error when two publishers use the same type, give the same id to two public events of one event, or fold
 * the streams of one category differently
 */
export function createCatalogue(publishers: readonly Published[]): Catalogue {
  const types = publishers.flatMap((publisher) =>
    Object.entries(publisher.types).flatMap(([type, description]) =>
      publisher.repeats.includes(type) ? [] : [{ type, description, publisher }],
    ),
  )
  requireUnique(types.map(({ type }) => `the public event ${type}`))
  for (const { repeats, resource } of publishers)
    for (const repeated of repeats)
      if (!types.some(({ type, publisher }) => type === repeated && publisher.resource === resource))
        throw new Error(`no publisher of ${resource} declares the public event ${repeated}`)
  requireUnique(
    publishers.flatMap(({ category, events, firstIndex, subject }) =>
      Object.entries(events).flatMap(([event, caused]) =>
        caused.map((_type, i) => `the public event ${firstIndex + i} of ${event} (${category} of ${subject ?? 'any'})`),
      ),
    ),
  )
  const byCategory = new Map<string, readonly Published[]>()
  for (const publisher of publishers)
    byCategory.set(publisher.category, [...(byCategory.get(publisher.category) ?? []), publisher])
  for (const [category, [one, ...others]] of byCategory)
    if (others.some(({ fold }) => fold !== one?.fold))
      throw new Error(`two publishers fold the streams of ${category} differently`)
  const publishersOf = (category: string) => byCategory.get(category) ?? []
  const byEvent = new Map(
    [...byCategory].map(([category, of]) => {
      const names = new Set(of.flatMap(({ events }) => Object.keys(events)))
      const causing = (name: string) => of.filter(({ events }) => (events[name] ?? []).length > 0)
      return [category, new Map([...names].map((name) => [name, causing(name)]))] as const
    }),
  )
  return {
    types,
    publishers,
    publishersOf,
    publishersFor: ({ streamId, type }) => byEvent.get(categoryOf(streamId))?.get(type) ?? [],
    foldOf: (category) => publishersOf(category)[0]?.fold ?? null,
    lastIndexOf({ streamId, type }) {
      const of = publishersOf(categoryOf(streamId))
      return Math.max(0, ...of.map(({ firstIndex, events }) => firstIndex + (events[type]?.length ?? 0) - 1))
    },
  }
}

function requireUnique(names: readonly string[]): void {
  const twice = names.find((name, n) => names.indexOf(name) !== n)
  if (twice !== undefined) throw new Error(`${twice} is published twice`)
}

export function categoryOf(streamId: string): string {
  return streamId.slice(0, streamId.indexOf('-'))
}
