/** How each refusal looks in the reference: one shared response for each status, with an example of ours. */
import type { ErrorItem } from '../core/errors.ts'
import { errorBody } from './envelope.ts'
import { ERROR_TYPES, statusOf } from './error-status.ts'

const text = (description: string, examples: string[]) => ({ type: 'string', description, examples })

export const COMPONENT_SCHEMAS = {
  Error: {
    type: 'object',
    description: 'The shape of every refusal.',
    required: ['status', 'message', 'errors', 'request_id'],
    properties: {
      status: { type: 'string', const: 'error' },
      message: text('A summary.', ['network must be one of ethereum, polygon, binance.']),
      errors: {
        type: 'array',
        description: 'All that is wrong, not only the first thing.',
        items: { $ref: '#/components/schemas/ErrorItem' },
      },
      request_id: text('Quote it when you ask about this request.', ['req_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a11']),
    },
  },
  ErrorItem: {
    type: 'object',
    required: ['type', 'message'],
    properties: {
      type: { type: 'string', enum: ERROR_TYPES, description: 'The kind of refusal.' },
      message: text('What is wrong and what the rule is.', ['network must be one of ethereum, polygon, binance.']),
      field: text('The request field at fault.', ['network', 'metadata.image', 'items[2].to']),
      code: text('Finer than the type, and as stable.', ['not_allowed']),
      details: { type: 'object', description: 'Figures that belong to the refusal.', additionalProperties: true },
    },
  },
} as const

const SHARED: readonly { readonly description: string; readonly item: ErrorItem }[] = [
  {
    description: 'The request cannot be read: the body is not JSON.',
    item: { type: 'validation_error', code: 'malformed_json', message: 'The body is not valid JSON, at position 17.' },
  },
  {
    description: 'No API key, or one that is unknown, expired or revoked.',
    item: {
      type: 'authentication_error',
      code: 'api_key_invalid',
      message: 'This API key is not valid: it is unknown, expired or revoked.',
    },
  },
  {
    description: 'The key lacks the scope, or is for the other environment.',
    item: {
      type: 'permission_error',
      code: 'environment_mismatch',
      message: 'This API key is for testnet and the request names mainnet: use a key for mainnet.',
    },
  },
  {
    description: 'There is no such thing here, or it belongs to somebody else.',
    item: { type: 'not_found', code: 'wallet_not_found', message: 'No such wallet.' },
  },
  {
    description: 'The resource is in a state that does not allow this.',
    item: { type: 'conflict', code: 'conflict', message: 'The state of the resource does not allow this.' },
  },
  {
    description: 'It was here, and is gone for good.',
    item: { type: 'not_found', code: 'export_expired', message: 'The exported key was kept for an hour and is gone.' },
  },
  {
    description: 'The body has more bytes than the route takes.',
    item: {
      type: 'validation_error',
      code: 'body_too_large',
      message: 'The body is larger than the 65536 bytes that are taken here: send less in one request.',
    },
  },
  {
    description: 'The body is not JSON by its content type.',
    item: {
      type: 'validation_error',
      code: 'unsupported_media_type',
      message: 'The body must be JSON: send Content-Type: application/json.',
    },
  },
  {
    description: 'Fields that break a rule, all of them listed.',
    item: {
      type: 'validation_error',
      code: 'not_allowed',
      field: 'network',
      message: 'network must be one of ethereum, polygon, binance.',
    },
  },
  {
    description: 'Too many requests: `Retry-After` says when to come back.',
    item: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Too many requests: try again in 1 s.' },
  },
  {
    description: 'Something failed on our side.',
    item: { type: 'internal_error', code: 'internal_error', message: 'Something failed on our side.' },
  },
  {
    description: 'Something that this needs is down. Nothing happened; try again.',
    item: { type: 'unavailable', code: 'database_unavailable', message: 'The database does not answer: try again.' },
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

/** The statuses that a route can refuse with; a text where the route says more than the shared description. */
export function refusalStatuses(route: {
  readonly authenticated: boolean
  readonly limited: boolean
  readonly body: boolean
  readonly query: boolean
  readonly idempotent: boolean
  readonly params: boolean
  readonly refusals: Readonly<Record<number, string>>
}): Record<string, string | null> {
  const statuses = [
    ...(route.body ? [400, 413, 415, 422] : []),
    ...(route.query || route.idempotent ? [422] : []),
    ...(route.authenticated ? [401, 403] : []),
    ...(route.limited ? [429] : []),
    ...(route.params ? [404] : []),
    ...[500, 503],
  ]
  return { ...Object.fromEntries(statuses.map((status) => [status, null])), ...route.refusals }
}
