/** The extensions of Fastify's types: the application, the request and the route's settings. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { TSchema } from '@sinclair/typebox'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Caller } from './caller.ts'
import type { RouteAccess } from './route-rules.ts'
import type { View } from './view.ts'

type Validated<Schema> = (TypeBoxTypeProvider & { readonly schema: Schema })['validator']

/** What requests contain, and what replies must contain: views, whose fields are read-only. */
interface SchemaTypes extends FastifyTypeProvider {
  readonly validator: Validated<this['schema']>
  readonly serializer: this['schema'] extends TSchema ? View<this['schema']> : unknown
}

/** The Fastify instance that routes are added to: request and reply types are inferred from their TypeBox schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  SchemaTypes
>

/** Adds the routes of one capability. */
export type Routes = (app: App) => void

declare module 'fastify' {
  interface FastifyContextConfig extends RouteAccess {}

  interface FastifyRequest {
    /** The caller of the request. Throws on a public route. */
    readonly caller: Caller
    /** Set by authentication; null before it and on public routes. */
    authenticated: Caller | null
    /** Bytes of the body that was read; 0 before that and without a body. */
    bodyLength: number
    /**
     * The client's idempotency key and the digest of this request; null when none was sent or the route does not take
     * one.
     */
    idempotency: { readonly key: string; readonly fingerprint: string } | null
  }
}
