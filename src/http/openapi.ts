/**
 * The OpenAPI 3.1 document, generated from the schemas that validate requests and serialise responses, so that it
 * cannot become outdated. Adds what routes need not repeat: security, common headers, the error responses of each
 * status, complete examples.
 */
import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import type { FastifySchema, RouteOptions } from 'fastify'
import type { Catalogue } from '../core/registry.ts'
import { type Gate, limitByAddress } from './auth.ts'
import type { BodyLimits } from './body-limits.ts'
import { createDocument, type Document, sendDocument } from './document.ts'
import { type ErrorCode, errorCodes } from './error-codes.ts'
import { KEY_PATTERN, MAX_KEY_LENGTH } from './idempotency.ts'
import { type Components, createComponents, namedAfter } from './openapi-components.ts'
import { type DocumentedEvent, eventSection } from './openapi-event-types.ts'
import { exampleOf } from './openapi-examples.ts'
import { REFERENCE_INTRODUCTION } from './openapi-introduction.ts'
import { COMPONENT_RESPONSES, errorSchemas, refusalStatuses } from './openapi-refusals.ts'
import { MAX_PARAM_LENGTH } from './path-limits.ts'
import type { App } from './request.ts'

const OPERATION_METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

type Media = { schema?: Record<string, unknown>; example?: unknown; examples?: unknown }
type Operation = {
  readonly operationId: string
  responses: Record<string, { description?: string; content?: Record<string, Media> } | { $ref: string }>
  requestBody?: { required?: boolean; content: Record<string, Media> }
  'x-refusals'?: Record<string, string | null>
}
type Description = {
  components?: object
  paths?: Record<string, Partial<Record<(typeof OPERATION_METHODS)[number], Operation>>>
}

// No examples: the try-it form would send them, and a second attempt would reuse the key of the first.
const IDEMPOTENCY_KEY = Type.String({
  minLength: 1,
  maxLength: MAX_KEY_LENGTH,
  pattern: KEY_PATTERN,
  description:
    'A unique key of 1 to 255 visible ASCII characters, such as `invoice-2026-0042`. A repeated request with the same key and ' +
    'the same body returns the same resource with `Idempotency-Replayed: true`. The same key with another body is refused ' +
    'with 422 `idempotency_key_reused`. A key belongs to the tenant, in mainnet and testnet together. A refused request does not use ' +
    'its key up. Keys never expire. Send the header once.',
})

const PREFER =
  'How long to wait for the result (RFC 7240): `wait=10` waits up to 10 seconds, at most 60; `respond-async` does not wait.'

/** Adds the document at `/openapi.json`. Call it before the routes are added. */
export async function addOpenApi(
  app: App,
  {
    version,
    gate,
    events,
    catalogue,
  }: {
    readonly version: string
    readonly gate: Gate
    readonly events: readonly DocumentedEvent[]
    readonly catalogue: Pick<Catalogue, 'errors' | 'quotas' | 'tags'>
  },
): Promise<void> {
  const codes = errorCodes(catalogue)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Bursar',
        version,
        description: REFERENCE_INTRODUCTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } as { name: string },
      },
      servers: [{ url: '/', description: 'This server' }],
      tags: [...catalogue.tags],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, sent as a bearer token.' },
        },
      },
    },
    convertConstToEnum: false,
    transform: ({ schema, url, route }) => ({ schema: documented(schema ?? {}, route), url }),
    transformObject: (built) => {
      const document = 'openapiObject' in built ? built.openapiObject : built.swaggerObject
      complete(document as Description, events, codes)
      return document
    },
  })
  let document: Document | undefined
  app.get('/openapi.json', { schema: { hide: true }, onRequest: limitByAddress(gate) }, async (request, reply) => {
    document ??= createDocument(JSON.stringify(app.swagger()))
    return sendDocument(request, reply, document, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
    })
  })
}

/** Adds the documentation of a route's settings to its schema. */
function documented(schema: FastifySchema, route: RouteOptions): FastifySchema {
  if (schema.hide) return schema
  const { scope = 'public', limited = false, idempotent = false, waits, body, refusals = {} } = route.config ?? {}
  const waiting = waits === undefined ? undefined : `Waits ${waits}. Use \`Prefer\` to change this.`
  const room = body === undefined ? undefined : `The limit of the body is ${sizeOf(body)} and ${body.values} values.`
  const notes = [
    schema.description,
    waiting,
    room,
    scope === 'public' ? undefined : scope === 'any' ? 'Any API key will do.' : `Requires the scope \`${scope}\`.`,
  ]
  const headers = {
    ...(idempotent ? { 'Idempotency-Key': Type.Optional(IDEMPOTENCY_KEY) } : {}),
    ...(waits === undefined ? {} : { Prefer: Type.Optional(Type.String({ description: PREFER })) }),
  }
  return {
    ...schema,
    ...(schema.querystring === undefined ? {} : { querystring: asSent(schema.querystring) }),
    ...(schema.params === undefined ? {} : { params: asRouted(schema.params) }),
    description: notes.filter((note) => note !== undefined).join('\n\n'),
    ...(Object.keys(headers).length === 0 ? {} : { headers: Type.Object(headers) }),
    security: scope === 'public' ? [] : [{ apiKey: [] }],
    'x-refusals': refusalStatuses({
      authenticated: scope !== 'public',
      limited: limited || scope !== 'public',
      writes: !['GET', 'HEAD'].includes(String(route.method)),
      query: schema.querystring !== undefined,
      params: route.url.includes('/:'),
      refusals,
    }),
  } as FastifySchema
}

function sizeOf({ bytes }: BodyLimits): string {
  return bytes === Number.POSITIVE_INFINITY
    ? 'the size that `BODY_LIMIT_BYTES` sets (1 MiB by default)'
    : `${bytes / 1_024} KiB`
}

/**
 * A parameter with a default is optional for the caller, but always present for the route, which reads it after
 * defaults are filled in.
 */
function asSent(schema: unknown): unknown {
  const {
    required = [],
    properties = {},
    ...rest
  } = schema as {
    readonly required?: readonly string[]
    readonly properties?: Readonly<Record<string, { readonly default?: unknown }>>
  }
  return { ...rest, properties, required: required.filter((name) => properties[name]?.default === undefined) }
}

/** The router accepts no longer parameter, whatever its schema allows. */
function asRouted(schema: unknown): unknown {
  const { properties = {}, ...rest } = schema as {
    readonly properties?: Readonly<Record<string, { maxLength?: number }>>
  }
  const bounded = Object.entries(properties).map(([name, parameter]) => [
    name,
    { ...parameter, maxLength: Math.min(parameter.maxLength ?? MAX_PARAM_LENGTH, MAX_PARAM_LENGTH) },
  ])
  return { ...rest, properties: Object.fromEntries(bounded) }
}

function complete(document: Description, events: readonly DocumentedEvent[], codes: readonly ErrorCode[]): void {
  const components = createComponents()
  for (const path of Object.values(document.paths ?? {})) {
    for (const method of OPERATION_METHODS) {
      const operation = path[method]
      if (operation !== undefined) completeOperation(operation, components)
    }
  }
  Object.assign(document, eventSection(events, components))
  const schemas = { ...errorSchemas(codes), ...components.schemas() }
  document.components = { ...document.components, schemas, responses: COMPONENT_RESPONSES }
}

function completeOperation(operation: Operation, components: Components): void {
  const answers = Object.values(operation.responses).map((response) =>
    'content' in response ? response.content : undefined,
  )
  for (const content of [operation.requestBody?.content, ...answers]) {
    for (const media of Object.values(content ?? {})) addExample(media)
  }
  const body = operation.requestBody
  if (body !== undefined)
    body.required = Object.values(body.content).some(({ schema }) => schema?.required !== undefined)
  moveBodies(operation, components)
  for (const [status, description] of Object.entries(operation['x-refusals'] ?? {})) {
    const shared = COMPONENT_RESPONSES[status]
    operation.responses[status] ??=
      description === null || shared === undefined
        ? { $ref: `#/components/responses/${status}` }
        : { ...shared, description: `${shared.description} ${description}` }
  }
  delete operation['x-refusals']
}

/** Bodies of requests and of successes become references to components. */
function moveBodies({ operationId, requestBody, responses }: Operation, { moveOut }: Components): void {
  const move = (content: Record<string, Media> | undefined, suffix: string) => {
    const media = content?.['application/json']
    if (media?.schema !== undefined) media.schema = moveOut(namedAfter(operationId, media.schema, suffix))
  }
  move(requestBody?.content, 'Request')
  for (const response of Object.values(responses)) {
    if ('content' in response && response.content?.['application/json']?.schema?.type !== 'null')
      move(response.content, 'Response')
  }
}

function addExample(media: Media): void {
  if (media.example !== undefined || media.examples !== undefined || media.schema === undefined) return
  const example = exampleOf(media.schema)
  if (example !== undefined) media.example = example
}
