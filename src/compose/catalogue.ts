/** The public events of every capability, and how they are rendered. */
import type { Pool } from 'pg'
import { readRanges } from '../event-log/read-logged.ts'
import { type Catalogue, createCatalogue } from '../feed/catalogue.ts'
import { createRender, type Render } from '../feed/render.ts'
import { ALL_AGGREGATES, CAPABILITIES } from './capabilities.ts'

export async function composeCatalogue(): Promise<Catalogue> {
  const published = await Promise.all(CAPABILITIES.map(async ({ publishes }) => (await publishes?.()) ?? []))
  return createCatalogue(published.flat())
}

export function composeRender(catalogue: Catalogue, pool: Pool): Render {
  return createRender({ catalogue, aggregates: ALL_AGGREGATES, readRanges: (ranges) => readRanges(pool, ranges) })
}
