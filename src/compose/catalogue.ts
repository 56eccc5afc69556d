/** The public events of every capability, and how they are rendered. */
import { LRUCache } from 'lru-cache'
import { eventIdOf } from '../core/event-ids.ts'
import { readRanges } from '../event-log/read-logged.ts'
import { type Catalogue, createCatalogue } from '../feed/catalogue.ts'
import { createRender, type Render } from '../feed/render.ts'
import { ALL_AGGREGATES, CAPABILITIES } from './capabilities.ts'
import type { Kernel } from './kernel.ts'

export async function composeCatalogue(): Promise<Catalogue> {
  const published = await Promise.all(CAPABILITIES.map(async ({ publishes }) => (await publishes?.()) ?? []))
  return createCatalogue(published.flat())
}

/** Events that were reported, so that each is logged once. */
const MOST_REPORTED = 1_000

export function composeRender(catalogue: Catalogue, { pool, logger }: Pick<Kernel, 'pool' | 'logger'>): Render {
  const reported = new LRUCache<string, true>({ max: MOST_REPORTED })
  return createRender({
    catalogue,
    aggregates: ALL_AGGREGATES,
    readRanges: (ranges, mostOfEach) => readRanges(pool, ranges, mostOfEach),
    onUnreadable(event, error) {
      const id = eventIdOf(event)
      if (reported.has(id)) return
      reported.set(id, true)
      logger.error({ event: id, err: error }, 'left out the public events of an event that cannot be read')
    },
  })
}

/** With how public events are rendered: for processes of capabilities that tell them. */
export async function withRender(kernel: Kernel): Promise<Kernel & { readonly render: Render }> {
  return { ...kernel, render: composeRender(await composeCatalogue(), kernel) }
}
