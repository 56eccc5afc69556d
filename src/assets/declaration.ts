/** The declaration of assets: the tokens that tenants register. */
import { READERS, readBy } from '../core/database-roles.ts'
import type { Declaration, EventWriters } from '../core/declaration.ts'
import type { AssetEvent } from './events.ts'

export const assets = {
  name: 'assets',
  ids: { asset: 'ast' },
  scopes: ['assets:read', 'assets:write'],
  tables: { assets: { follows: 'stream', grants: readBy([...READERS, 'follower']) } },
  streams: {
    asset: {
      rows: ['assets'],
      readScope: 'assets:read',
      events: { AssetRegistered: ['api'], AssetRemoved: ['api'] } satisfies EventWriters<AssetEvent>,
    },
  },
} as const satisfies Declaration
