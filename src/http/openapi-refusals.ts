/** The error responses in the API reference: one shared response for each status, with an example. */
import type { ErrorItem } from '../core/errors.ts'
import { errorBody } from './envelope.ts'
import type { ErrorCode } from './error-codes.ts'
import { ERROR_TYPES, statusOf } from './error-status.ts'
import { MAX_PARAM_LENGTH } from './path-limits.ts'

const text = (description: string, examples: string[]) => ({ type: 'string', description, examples })

/** @param codes every error code */
export const errorSchemas = (codes: readonly ErrorCode[]) => ({
  Error: {
    type: 'object',
    description: 'The body of every error response.',
    required: ['status', 'message', 'errors', 'request_id'],
    properties: {
      status: { type: 'string', const: 'error', description: 'Always `error`.' },
      message: text('A summary of the errors.', ['network must be one of ethereum, polygon, binance.']),
      errors: {
        type: 'array',
        description: 'Every error that was found, not only the first one.',
        items: { $ref: '#/components/schemas/ErrorItem' },
      },
      request_id: text('The id of the request. Quote it when you report a problem.', [
        'req_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11',
      ]),
    },
  },
  ErrorItem: {
    type: 'object',
    required: ['type', 'message'],
    properties: {
      type: { type: 'string', enum: ERROR_TYPES, description: 'The kind of error.' },
      message: text('What is wrong and how to fix it. For people: do not parse it.', [
        'network must be one of ethereum, polygon, binance.',
      ]),
      field: text('The request field that caused the error.', ['network', 'metadata.image', 'items[2].to']),
      code: {
        type: 'string',
        enum: [...new Set(codes.map(({ code }) => code))],
        description: 'A stable code, more specific than `type`. Branch on it. Later versions add codes.',
        examples: ['not_allowed'],
      },
      details: {
        type: 'object',
        description: 'More data about the error, such as amounts or limits.',
        additionalProperties: true,
      },
    },
  },
})

const SHARED: readonly { readonly description: string; readonly item: ErrorItem }[] = [
  {
    description:
      'The request cannot be read: the body is not JSON, the path is not a valid URL, or a header is sent twice.',
    item: { type: 'validation_error', code: 'malformed_json', message: 'The body is not valid JSON, at position 17.' },
  },
  {
    description: 'The API key is missing, unknown, expired or revoked.',
    item: {
      type: 'authentication_error',
      code: 'api_key_invalid',
      message: 'The API key is invalid: it is unknown, expired or revoked.',
    },
  },
  {
    description:
      'The API key does not have the required scope, is for the other environment, or has a limit that does not allow the request: `key_limit`.',
    item: {
      type: 'permission_error',
      code: 'environment_mismatch',
      message: 'The API key is for testnet but the request names mainnet: use a key for mainnet.',
    },
  },
  {
    description: 'The resource does not exist, or belongs to another tenant.',
    item: { type: 'not_found', code: 'wallet_not_found', message: 'No such wallet.' },
  },
  {
    description: 'The state of the resource does not allow the request.',
    item: { type: 'conflict', code: 'wallet_archived', message: 'The wallet is archived: restore it first.' },
  },
  {
    description: 'The resource existed and is permanently deleted.',
    item: {
      type: 'not_found',
      code: 'export_expired',
      message: 'The file of the export was deleted after an hour: request a new export.',
    },
  },
  {
    description: 'The body is larger than the limit of the operation.',
    item: {
      type: 'validation_error',
      code: 'body_too_large',
      message: 'The body is larger than the limit of 65536 bytes: send a smaller request.',
    },
  },
  {
    description: `A path parameter has more than ${MAX_PARAM_LENGTH} characters.`,
    item: {
      type: 'validation_error',
      code: 'url_too_long',
      message: `A segment of the path is longer than ${MAX_PARAM_LENGTH} characters.`,
    },
  },
  {
    description: 'The content type of the body is not JSON.',
    item: {
      type: 'validation_error',
      code: 'unsupported_media_type',
      message: 'The body must be JSON: send Content-Type: application/json.',
    },
  },
  {
    description: 'One or more fields are invalid. `errors` lists all of them.',
    item: {
      type: 'validation_error',
      code: 'not_allowed',
      field: 'network',
      message: 'network must be one of ethereum, polygon, binance.',
    },
  },
  {
    description:
      'Too many requests, or a quota is used up. `Retry-After` says how many seconds to wait, where waiting helps.',
    item: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Too many requests: try again in 1 s.' },
  },
  {
    description: 'An internal error occurred. You can safely retry with the same Idempotency-Key.',
    item: {
      type: 'internal_error',
      code: 'internal_error',
      message: 'An internal error occurred. You can safely retry the request with the same Idempotency-Key.',
    },
  },
  {
    description: 'A dependency is not available. The request had no effect: try again.',
    item: { type: 'unavailable', code: 'database_unavailable', message: 'The database is not available: try again.' },
  },
]

export const COMPONENT_RESPONSES: Readonly<Record<string, { description: string; content: Record<string, object> }>> =
  Object.fromEntries(
    SHARED.map(({ description, item }) => [
      String(statusOf(item)),
      {
        description,
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/Error' },
            example: errorBody([item], 'req_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11'),
          },
        },
      },
    ]),
  )

/** The error statuses of a route; a text where the route adds to the shared description. */
export function refusalStatuses(route: {
  readonly authenticated: boolean
  readonly limited: boolean
  /** Whether it may have a body: a body that it does not accept is refused too. */
  readonly writes: boolean
  readonly query: boolean
  readonly params: boolean
  readonly refusals: Readonly<Record<number, string>>
}): Record<string, string | null> {
  const statuses = [
    400,
    ...(route.writes ? [413, 415, 422] : []),
    ...(route.query ? [422] : []),
    ...(route.authenticated ? [401, 403] : []),
    ...(route.limited ? [429] : []),
    ...(route.params ? [404, 414] : []),
    500,
    503,
  ]
  return { ...Object.fromEntries(statuses.map((status) => [status, null])), ...route.refusals }
}
