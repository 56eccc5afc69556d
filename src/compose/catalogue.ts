/** The public events of every capability. */
import { type Catalogue, createCatalogue } from '../feed/catalogue.ts'
import { CAPABILITIES } from './capabilities.ts'

export async function composeCatalogue(): Promise<Catalogue> {
  const published = await Promise.all(CAPABILITIES.map(async ({ publishes }) => (await publishes?.()) ?? []))
  return createCatalogue(published.flat())
}
