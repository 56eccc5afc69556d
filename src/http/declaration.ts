/** The declaration of the edge: what it raises and counts itself, and the errors of the core and the chain, which declare nothing. */
import type { Declaration } from '../core/declaration.ts'

export const http = {
  name: 'http',
  counters: {
    bursar_http_connections_dropped_total: {
      help: 'Connections closed on arrival, by the limit that they exceeded.',
      labels: ['limit'],
    },
    bursar_quota_refusals_total: {
      help: 'Requests refused because the tenant reached a quota, by quota.',
      labels: ['quota'],
    },
    bursar_api_key_refusals_total: {
      help: 'Requests refused because of their API key: `missing`, `invalid` (unknown, expired or revoked), `address`, `scope` or `limit`.',
      labels: ['reason'],
    },
  },
  // Those that several capabilities raise are here too.
  errors: {
    validation_error: {
      amount_too_large: 'Send a smaller amount.',
      bad_checksum: 'Correct the address: its EIP-55 checksum does not match.',
      body_required: 'Send a JSON object as the body.',
      body_too_large: 'Send a smaller body. The limit is in the message.',
      duplicate: 'Remove the repeated item.',
      duplicate_field: 'Send each field once.',
      duplicate_header: 'Send the header once.',
      empty_range: 'Send a `to` that is later than `from`.',
      exceeds_balance: 'Send at most what the wallet holds.',
      headers_too_large: 'Send fewer or shorter headers.',
      invalid: 'Correct the field as the message says.',
      invalid_abi: 'Correct the fragment of the ABI, or the signature.',
      invalid_address: 'Send an address: 0x and 40 hexadecimal digits.',
      invalid_amount: 'Send the amount as a decimal string.',
      invalid_bytes: 'Send bytes as 0x and hexadecimal digits.',
      invalid_cursor: 'Use the unchanged `next_cursor` of the same list, or omit the cursor.',
      invalid_format: 'Send the field in the format that the message names.',
      invalid_hex: 'Send 0x and an even number of hexadecimal digits.',
      invalid_id: 'Use an id that this API returned.',
      invalid_idempotency_key: 'Send 1 to 255 visible ASCII characters, once.',
      invalid_integer: 'Send an integer.',
      invalid_text: 'Remove the characters that the message names.',
      invalid_time: 'Send an ISO 8601 time with a time zone.',
      invalid_url: 'Send an absolute URL as the message says.',
      malformed_json: 'Correct the JSON of the body.',
      malformed_request: 'Correct the HTTP request.',
      malformed_url: 'Correct the percent-encoding of the path.',
      network_not_configured: 'Use a configured network, or ask the operator to configure it.',
      not_allowed: 'Use an allowed value, or omit the field, as the message says.',
      out_of_range: 'Send a value that fits the declared type.',
      request_timeout: 'Send the request faster.',
      required: 'Send the field.',
      time_in_future: 'Use a time in the past.',
      too_deep: 'Nest fewer levels.',
      too_few: 'Send more items or fields.',
      too_large: 'Send a smaller value.',
      too_long: 'Send a shorter value.',
      too_many: 'Send fewer items or fields.',
      too_many_decimals: 'Use at most as many decimals as the asset has.',
      too_many_values: 'Send a smaller body. The limit is in the message.',
      too_short: 'Send a longer value.',
      too_small: 'Send a larger value.',
      unknown_field: 'Remove or correct the field.',
      unknown_header: 'Remove or correct the header.',
      unknown_query_parameter: 'Remove or correct the query parameter.',
      unsafe_number: 'Send the number as a decimal string.',
      unsupported_content_encoding: 'Send the body uncompressed.',
      unsupported_media_type: 'Send `Content-Type: application/json`.',
      url_too_long: 'Use a shorter path parameter.',
      wrong_length: 'Send as many items or bytes as the type declares.',
      wrong_type: 'Send a value of the JSON type that the message names.',
      zero_address: 'Use another address than the zero address.',
    },
    authentication_error: {
      api_key_invalid: 'Use a valid API key.',
      api_key_missing: 'Send `Authorization: Bearer <API_KEY>`.',
    },
    permission_error: {
      address_not_allowed: 'Use the API key from an address of its `ip_allowlist`.',
      environment_mismatch: 'Use an API key for the environment that the request names.',
      insufficient_scope: 'Use an API key with the scope that the message names.',
    },
    not_found: {
      faucet_not_ready: 'Try again when the sandbox has started.',
      method_not_allowed: 'Use a method from the `Allow` header.',
      resource_not_found: 'Check the path parameter.',
      route_not_found: 'Check the path.',
    },
    idempotency_error: {
      idempotency_key_reused: 'Use a new Idempotency-Key for a new request.',
    },
    insufficient_funds: {
      insufficient_funds: 'Fund the wallet, wait for pending transactions, or send less.',
    },
    chain_error: {
      deployment_proxy_missing: 'Use another network: it does not have the deployment proxy.',
      rpc_error: 'Check the request: the node refused the call, as the message says.',
    },
    rate_limit_error: {
      rate_limit_exceeded: 'Wait as long as `Retry-After` says.',
    },
    unavailable: {
      block_inconsistent: 'Try again later.',
      database_unavailable: 'Try again.',
      faucet_slow: 'Check the balance later: the payment continues.',
      fee_cap_exceeded: 'Try again when gas costs less.',
      network_not_configured: 'Ask the operator to configure the network.',
      network_unavailable: 'Try again when the network works: the message says why it does not.',
      no_quorum: 'Try again when more nodes of the network work.',
      not_ready: 'See `details` for the check that failed.',
      rpc_unavailable: 'Try again.',
    },
    internal_error: {
      internal_error: 'Retry with the same Idempotency-Key. Report it with the `request_id` if it persists.',
    },
  },
  tags: {
    Quotas: { description: 'The limits of your tenant and what is in use.', place: 130 },
    Sandbox: { description: 'Test funds for the local chains. Available in the sandbox only.', place: 140 },
    Operations: { description: 'Health checks and metrics for operators. No API key is needed.', place: 150 },
  },
  quotas: {
    requests_in_flight: {
      kind: 'edge',
      place: 80,
      // 100 requests per second that each wait ten seconds, for example for the address of a wallet.
      default: 1_000,
      description: 'Maximum number of concurrent requests of a tenant per API process',
      counted: 'concurrent requests',
      remedy: 'Send fewer concurrent requests',
    },
    bytes_per_second: {
      kind: 'edge',
      place: 90,
      // 100 pages of 80 KB per second. One core writes ten times that.
      default: 8 * 1_024 * 1_024,
      description:
        'Maximum size of request and response bodies of a tenant in bytes per second and API process. A burst can use ten seconds of it',
      counted: 'bytes of request and response bodies per second',
      remedy: 'Send the request again later',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly http: typeof http
  }
}
