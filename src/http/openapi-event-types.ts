/**
 * The section `webhooks` of the API document (OpenAPI 3.1): one entry for each public event type. `@fastify/swagger`
 * does not know the section, nor schemas outside of routes.
 */
import type { TSchema } from '@sinclair/typebox'
import { COMPONENT } from './components.ts'
import type { Components, Schema } from './openapi-components.ts'

/** A public event type. */
export type DocumentedEvent = {
  /** `transaction.mined`. */
  readonly type: string
  readonly description: string
  /** The name of the component: events of one resource share it. */
  readonly component: string
  /** The schema of the whole event. */
  readonly schema: TSchema
  /** An event of the type. */
  readonly example: unknown
}

/** The section, which OpenAPI names so; moves the schemas of its entries to the components. */
export function eventSection(
  events: readonly DocumentedEvent[],
  { moveOut }: Components,
): { readonly webhooks: object } {
  return { webhooks: Object.fromEntries(events.map((event) => [event.type, { post: entryOf(event, moveOut) }])) }
}

function entryOf(
  { type, description, component, schema, example }: DocumentedEvent,
  moveOut: Components['moveOut'],
): object {
  const plain = withNullTypes({ ...schema, [COMPONENT]: component })
  return {
    operationId: `on${type.split(/[._]/).map(capitalised).join('')}`,
    tags: ['Event types'],
    // The receiver knows the sender by the signature, not by a credential.
    security: [],
    summary: type,
    description,
    requestBody: { required: true, content: { 'application/json': { schema: moveOut(plain), example } } },
    responses: { '200': { description: 'Any 2xx status acknowledges the event.' } },
  }
}

/** `nullable` as JSON Schema 2020-12 says it; symbols of TypeBox are dropped. */
function withNullTypes({ nullable, ...schema }: Schema): Schema {
  const members = Object.entries(schema).map(([keyword, value]) => [
    keyword,
    keyword in VALUES ? value : converted(value),
  ])
  const own: Schema = Object.fromEntries(members)
  return nullable === true && own.type !== undefined ? { ...own, type: [own.type, 'null'] } : own
}

/** Keywords whose values are no schemas. */
const VALUES = { examples: 1, example: 1, default: 1, enum: 1, const: 1, required: 1 }

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted)
  return typeof value === 'object' && value !== null ? withNullTypes(value as Schema) : value
}

function capitalised(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}
