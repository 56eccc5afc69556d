/** The metadata that the event log records for a request: the API key, the request, its trace and idempotency key. */
import type { FastifyRequest } from 'fastify'
import { actorOfApiKey, type Metadata } from '../core/messages.ts'

/** W3C Trace Context § 3.2.2, version 00 and later ones that keep its four fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/
/** Later versions may add fields, up to this length. */
const LONGEST_TRACEPARENT = 128

/** The metadata of a request on an authenticated route. */
export function metadataOf(request: FastifyRequest): Metadata {
  const { tenantId, keyId } = request.caller
  const traceparent = traceparentOf(request.headers.traceparent)
  return {
    tenantId,
    actor: actorOfApiKey(keyId),
    correlationId: request.id,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(request.idempotency === null ? {} : { idempotency: request.idempotency }),
  }
}

/** The trace context if it is valid; an invalid one is ignored, as the recommendation requires. */
export function traceparentOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > LONGEST_TRACEPARENT) return undefined
  return TRACEPARENT.test(header) ? header : undefined
}
