/** The only place that maps errors to HTTP statuses: a total map over the types, refined by a few codes. */
import type { ErrorItem, ErrorType } from '../core/errors.ts'

const STATUS_OF_TYPE = {
  validation_error: 422,
  authentication_error: 401,
  permission_error: 403,
  not_found: 404,
  conflict: 409,
  idempotency_error: 422,
  policy_error: 403,
  insufficient_funds: 422,
  chain_error: 422,
  rate_limit_error: 429,
  unavailable: 503,
  internal_error: 500,
} as const satisfies Record<ErrorType, number>

/** Every type that an error item can have. */
export const ERROR_TYPES: readonly string[] = Object.keys(STATUS_OF_TYPE)

/** Codes with a more specific status than their type: the problem is not in a field of the request. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  malformed_request: 400,
  malformed_json: 400,
  malformed_url: 400,
  duplicate_header: 400,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_in_progress: 409,
  export_expired: 410,
  body_too_large: 413,
  url_too_long: 414,
  unsupported_media_type: 415,
  unsupported_content_encoding: 415,
  headers_too_large: 431,
}

/** The status of a response whose first error item is this one. */
export function statusOf(item: Pick<ErrorItem, 'type' | 'code'>): number {
  const refined = item.code === undefined ? undefined : STATUS_OF_CODE[item.code]
  return refined ?? STATUS_OF_TYPE[item.type]
}
