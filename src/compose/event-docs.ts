/** The public event types for the API document and for docs/events.md. */
import type { Catalogue } from '../feed/catalogue.ts'
import { eventSchemaOf } from '../feed/schemas.ts'
import type { DocumentedEvent } from '../http/openapi-event-types.ts'
import examples from './event-examples.json' with { type: 'json' }

/** Golden events, by type: `npm run golden-log` writes them. */
const EXAMPLES: Readonly<Record<string, unknown>> = examples

export function documentedEvents({ types }: Catalogue): readonly DocumentedEvent[] {
  return types.map(({ type, description, publisher: { resource, schema } }) => {
    const ofResource = types.filter(({ publisher }) => publisher.resource === resource)
    const category = ofResource[0]?.publisher.category ?? resource
    const names = ofResource.map((other) => other.type)
    return {
      type,
      description,
      component: nameOf(resource),
      schema: eventSchemaOf({ resource, category }, names, schema),
      example: EXAMPLES[type],
    }
  })
}

/** `nft.mint` is `NftMintEvent`. */
function nameOf(resource: string): string {
  const words = resource.split(/[._]/).map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  return `${words.join('')}Event`
}
