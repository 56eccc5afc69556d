/** Every public event type, and who publishes it. Types are what capabilities publish: there is no other list. */
import type { Published } from '../capability.ts'

export type PublicType = {
  readonly type: string
  readonly description: string
  readonly publisher: Published
}

export type Catalogue = {
  /** In the order of the publishers. */
  readonly types: readonly PublicType[]
  /** The publishers of the streams of a category. */
  readonly publishersOf: (category: string) => readonly Published[]
  /** The largest index that a public event of this event of the log can have. */
  readonly lastIndexOf: (event: { readonly streamId: string; readonly type: string }) => number
}

/** @throws Error when two publishers use the same type, or give the same id to two public events of one event */
export function createCatalogue(publishers: readonly Published[]): Catalogue {
  const types = publishers.flatMap((publisher) =>
    Object.entries(publisher.types).map(([type, description]) => ({ type, description, publisher })),
  )
  requireUnique(types.map(({ type }) => `the public event ${type}`))
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
  const publishersOf = (category: string) => byCategory.get(category) ?? []
  return {
    types,
    publishersOf,
    lastIndexOf({ streamId, type }) {
      const of = publishersOf(streamId.slice(0, streamId.indexOf('-')))
      return Math.max(0, ...of.map(({ firstIndex, events }) => firstIndex + (events[type]?.length ?? 0) - 1))
    },
  }
}

function requireUnique(names: readonly string[]): void {
  const twice = names.find((name, n) => names.indexOf(name) !== n)
  if (twice !== undefined) throw new Error(`${twice} is published twice`)
}
