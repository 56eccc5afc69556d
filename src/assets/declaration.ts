/** The declaration of assets: the tokens that tenants register. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, WHOLE_ROW } from '../core/declaration.ts'
import type { AssetEvent } from './events.ts'

export const assets = {
  name: 'assets',
  ids: { asset: 'ast' },
  scopes: ['assets:read', 'assets:write'],
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
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly assets: typeof assets
  }
}
