/** What the HTTP layer adds to Fastify's types, in one place: the application, the request and the route's settings. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { Caller } from './caller.ts'
import type { RouteAccess } from './route-rules.ts'

/** The Fastify instance that routes are added to: request and reply types follow from their TypeBox schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** Adds the routes of one capability. */
export type Routes = (app: App) => void

declare module 'fastify' {
  interface FastifyContextConfig extends RouteAccess {}

  interface FastifyRequest {
    /** Who sent the request. Throws on a public route: there is nobody to name. */
    readonly caller: Caller
    /** Set by authentication; null before it and on public routes. */
    authenticated: Caller | null
    /** Bytes of the body that was read; 0 before that and without one. */
    bodyLength: number
    /** The client's idempotency key and the digest of this request; null when none was sent or the route takes none. */
    idempotency: { readonly key: string; readonly fingerprint: string } | null
  }
}
