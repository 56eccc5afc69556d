/** The declaration of swaps: quotes, and the swaps that use them. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { SwapEvent } from './events.ts'

export const swaps = {
  name: 'swaps',
  ids: { quote: 'quo', swap: 'swap' },
  tables: {
    swap_quotes: {
      beside: 'what exchanges answered at a block, for half a minute; another installation asks them again',
      grants: { api: 'SELECT, INSERT, DELETE', operator: 'SELECT' },
    },
    swaps: { follows: 'stream', grants: readBy(READERS) },
  },
  openings: {
    SwapRequested: { type: 'SWAP', writers: ['api'], since: 3, keepsLogs: true },
    TokenApprovalRequested: { type: 'APPROVAL', writers: ['api'], since: 3 },
    // An operator deploys the guard of swaps on a chain.
    SwapGuardDeployRequested: { type: 'SWAP_GUARD_DEPLOY', writers: ['operator'], since: 3, isUnjudged: true },
  },
  intentParts: ['swap'],
  subjects: ['swap'],
  streams: {
    swap: {
      rows: { swaps: { of: '{swap_id}', changes: { SwapRecorded: WHOLE_ROW } } },
      readScope: 'transactions:read',
      events: { SwapRecorded: ['api'] } satisfies EventWriters<SwapEvent>,
    },
  },
  findings: [
    {
      place: 40,
      kinds: {
        relay_missing: 'a submitter leaves swaps, because its setting lacks the relays that they were requested with',
      },
    },
  ],
  errors: {
    validation_error: {
      insufficient_liquidity: 'Swap a smaller amount.',
      no_price_feed: 'Swap assets with a price feed, or ask the operator to set one.',
      no_route: 'Swap other assets: no exchange of the network has a pool for them.',
      not_with_quote: 'Omit the field, or omit quote_id.',
      price_impact_too_high: 'Swap a smaller amount, or allow a higher price impact.',
      same_asset: 'Name two different assets.',
      swap_not_configured: 'Ask the operator to configure exchanges for the network.',
      swap_reverts:
        'Use other assets, or try again later: `details.reason` says what the exchange or the token answered.',
      unlisted_token: 'Use `exact_input`, or buy another token: no exchange can enforce what this one must give.',
      unusual_token: 'Use `exact_input`, or another token: the transfers of this one move other amounts than they say.',
    },
    not_found: {
      quote_not_found: 'Check the id, or request a new quote: old ones are deleted.',
      swap_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      quote_expired: 'Request a new quote.',
      quote_moved: 'Use the fresh quote in `details`, or request another one.',
      quote_used: 'Request a new quote.',
      swap_in_progress: 'Wait for the other swap of the token.',
    },
    unavailable: {
      swap_pools_unanswered: 'Try again later, or swap a smaller amount.',
      swap_venues_unusable: 'Ask the operator to check the exchanges that `/readyz` names.',
    },
  },
  counters: {
    bursar_swap_quotes_total: {
      help: 'Quotes of swaps, by outcome: `quoted`, or the code of the error.',
      labels: ['outcome'],
    },
    bursar_swap_routes_total: {
      help: 'Quotes of swaps, by the exchange that gave the best route: `wrap` and `unwrap` need none.',
      labels: ['network', 'venue'],
    },
    bursar_swap_source_answers_total: {
      help: 'Answers of hosted sources of quotes, by outcome: `chosen`, or why it was not taken.',
      labels: ['source', 'outcome'],
    },
  },
  tags: {
    Swaps: { description: 'Quote and make swaps on the exchanges of a chain.', place: 30 },
  },
  quotas: {
    quotes_per_second: {
      kind: 'rate',
      place: 100,
      // A quote takes some 20 ms of processor time, and dozens of reads of a node.
      default: 10,
      description:
        'Maximum number of swap quotes of a tenant per second and API process. A burst can use ten seconds of it',
      counted: 'quotes of swaps per second',
      remedy: 'Send the request again later',
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly swaps: typeof swaps
  }
}
