/** Answers with whatever went wrong, in one shape. What we did not foresee is logged in full and told in nobody's words. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BursarError, type ErrorItem, Unavailable, ValidationFailed } from '../core/errors.ts'
import { isConnectionFailure, isTransient } from '../event-log/database-errors.ts'
import { errorBody } from './envelope.ts'
import { statusOf } from './error-status.ts'
import { RateLimited, RequestRefused } from './http-errors.ts'

/** Fastify's own refusals, by its codes. */
const FRAMEWORK_REFUSALS: Readonly<Record<string, { readonly code: string; readonly message: string }>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    message: 'The body must be JSON: send Content-Type: application/json.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    message: 'Content-Length does not agree with the size of the body.',
  },
  FST_ERR_BAD_URL: { code: 'malformed_url', message: 'The path is not a valid URL path: check its percent signs.' },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'url_too_long', message: 'A part of the path is too long.' },
}

const UNFORESEEN: ErrorItem = {
  type: 'internal_error',
  code: 'internal_error',
  message: 'Something failed on our side. It is safe to send the request again with the same Idempotency-Key.',
}

/** The error handler of the application. */
export function replyWithError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = understood(thrown, request)
  const items = error === null ? [UNFORESEEN] : [...error.items, ...queryMistakes(error, request)]
  const status = statusOf(items[0] ?? UNFORESEEN)
  if (error === null) request.log.error({ err: thrown }, 'request failed')
  else if (status >= 500) request.log.warn({ err: error, cause: error.cause }, 'request refused for now')
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
    return new Unavailable('database_unavailable', 'The database does not answer: try again.', { cause: thrown })
  }
  const { code, statusCode } = (thrown ?? {}) as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(request)
  const refusal = code === undefined ? undefined : FRAMEWORK_REFUSALS[code]
  if (refusal !== undefined) return new RequestRefused(refusal.code, refusal.message)
  // A body that breaks off has 400 by Fastify's hand; every other status of 4xx comes from a code above.
  if (statusCode === 400) return new RequestRefused('malformed_request', 'The request broke off or is malformed.')
  return null
}

function bodyTooLarge({ routeOptions }: FastifyRequest): RequestRefused {
  const message = `The body is larger than the ${routeOptions.bodyLimit} bytes that are taken here: send less in one request.`
  return new RequestRefused('body_too_large', message)
}

/** Fastify stops at the first part that fails; a caller whose body and query are both wrong is told both. */
function queryMistakes(error: BursarError, request: FastifyRequest): readonly ErrorItem[] {
  const { validationContext } = error as BursarError & { validationContext?: string }
  if (!(error instanceof ValidationFailed) || validationContext !== 'body') return []
  const result: unknown = request.getValidationFunction('querystring')?.(request.query)
  const failed = (result as { error?: unknown } | undefined)?.error
  return failed instanceof ValidationFailed ? failed.items : []
}
