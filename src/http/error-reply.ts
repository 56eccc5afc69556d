/**
 * Maps every error to one response shape. An unexpected error is logged in full, and the caller gets a generic message.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BursarError, type ErrorItem, Unavailable, ValidationFailed } from '../core/errors.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import { errorBody } from './envelope.ts'
import { statusOf } from './error-status.ts'
import { RateLimited, RequestRefused } from './http-errors.ts'
import { MAX_PARAM_LENGTH } from './path-limits.ts'

/** Fastify's own errors, by its codes. */
const FRAMEWORK_REFUSALS: Readonly<Record<string, { readonly code: string; readonly message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    message: 'The body must be JSON: send Content-Type: application/json.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    message: 'Content-Length does not match the size of the body.',
  },
  FST_ERR_BAD_URL: { code: 'malformed_url', message: 'The path is not a valid URL path: check its percent-encoding.' },
  FST_ERR_MAX_PARAM_LENGTH: {
    code: 'url_too_long',
    message: `A segment of the path is longer than ${MAX_PARAM_LENGTH} characters.`,
  },
}

const UNEXPECTED: ErrorItem = {
  type: 'internal_error',
  code: 'internal_error',
  message: 'An internal error occurred. You can safely retry the request with the same Idempotency-Key.',
}

/** The error handler of the application. */
export function replyWithError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = understood(thrown, request)
  const items = error === null ? [UNEXPECTED] : [...error.items, ...queryMistakes(error, request)]
  const status = statusOf(items[0] ?? UNEXPECTED)
  if (error === null) request.log.error({ err: thrown }, 'request failed')
  else if (status >= 500)
    request.log.warn({ err: error, cause: error.cause }, 'request failed: a dependency is not available')
  if (error instanceof RateLimited) reply.header('retry-after', error.retryAfterSeconds)
  else if (status === 503) reply.header('retry-after', 1)
  reply
    .code(status)
    .header('x-request-id', request.id)
    .header('content-type', 'application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(errorBody(items, request.id, error instanceof ValidationFailed ? undefined : error?.message))
}

function understood(thrown: unknown, request: FastifyRequest): BursarError | null {
  if (thrown instanceof BursarError) return thrown
  if (isConnectionFailure(thrown) || isTransient(thrown)) {
    return new Unavailable('database_unavailable', 'The database is not available: try again.', { cause: thrown })
  }
  const { code, statusCode } = (thrown ?? {}) as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(request)
  const refusal = code === undefined ? undefined : FRAMEWORK_REFUSALS[code]
  if (refusal !== undefined) return new RequestRefused(refusal.code, refusal.message)
  // Fastify gives 400 to an incomplete body; every other 4xx status comes from a code above.
  if (statusCode === 400) return new RequestRefused('malformed_request', 'The request is incomplete or malformed.')
  return null
}

function bodyTooLarge({ routeOptions }: FastifyRequest): RequestRefused {
  const message = `The body is larger than the limit of ${routeOptions.bodyLimit} bytes: send a smaller request.`
  return new RequestRefused('body_too_large', message)
}

/** Fastify stops at the first part that fails. A request whose body and query are both invalid gets the items of both. */
function queryMistakes(error: BursarError, request: FastifyRequest): readonly ErrorItem[] {
  const { validationContext } = error as BursarError & { validationContext?: string }
  if (!(error instanceof ValidationFailed) || validationContext !== 'body') return []
  const result: unknown = request.getValidationFunction('querystring')?.(request.query)
  const failed = (result as { error?: unknown } | undefined)?.error
  return failed instanceof ValidationFailed ? failed.items : []
}
