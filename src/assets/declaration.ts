/** The declaration of assets: the tokens that tenants register. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { AssetEvent } from './events.ts'

export const assets = {
  name: 'assets',
  ids: { asset: 'ast' },
  scopes: { 'assets:read': {}, 'assets:write': {} },
  tables: { assets: { follows: 'stream', grants: readBy([...READERS, 'follower']) } },
  streams: {
    asset: {
      rows: {
        assets: {
          of: '{asset_id}@{tenant_id}',
          changes: {
            AssetRegistered: [...WHOLE_ROW, 'symbol', 'name', 'decimals', 'created_at', 'removed_at'],
            AssetRemoved: ['removed_at'],
          },
        },
      },
      readScope: 'assets:read',
      events: { AssetRegistered: ['api'], AssetRemoved: ['api'] } satisfies EventWriters<AssetEvent>,
    },
  },
  errors: {
    validation_error: {
      invalid_asset_id: 'Use an `asset_id` from `GET /v1/assets`.',
      not_a_token: 'Use the address of an ERC-20 contract on this network.',
      unknown_asset: 'Use an asset from `GET /v1/assets`, or register the token.',
    },
    not_found: {
      asset_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      ambiguous_asset: 'Use the contract address instead of the symbol.',
      asset_has_pending_transactions: 'Wait for the pending transactions of the asset.',
      asset_not_registered: 'Only tokens that you registered can be removed.',
      token_unreadable: 'Try again later: the token contract cannot be read.',
    },
  },
  tags: {
    Assets: { description: 'The currencies and tokens that transfers and balances can name.', place: 50 },
  },
  quotas: {
    assets: {
      kind: 'counted',
      place: 30,
      // Each is a third-party contract whose balances are read for every wallet; a large portfolio has some hundred.
      default: 500,
      description: 'Maximum number of ERC-20 contracts that a tenant can register',
      counted: 'registered assets',
      remedy: 'Use the registered assets',
      retryAfterSeconds: null,
    },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly assets: typeof assets
  }
}
