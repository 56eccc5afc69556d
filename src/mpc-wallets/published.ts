/** Refreshes of key shares as public events. */
import { Type } from '@sinclair/typebox'
import { published } from '../capability.ts'
import { projectChange } from '../event-log/project-stream.ts'
import { named } from '../http/components.ts'
import { idSchema } from '../http/schemas.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { mpcKeys } from './declaration.ts'
import { refreshSchema } from './schemas.ts'
import { type RefreshRow, toRefresh } from './view.ts'

const schema = named(
  'ShareRefreshAtEvent',
  Type.Object({ wallet_id: idSchema('wal', 'The id of the wallet.'), ...refreshSchema.properties }),
)

export const publishedRefreshes = published(mpcKeyAggregate, {
  resource: 'share_refresh',
  scope: 'recovery:read',
  mayConcern: (_keyId, refreshId) => refreshId.startsWith(mpcKeys.ids.refresh),
  streamOf: () => null,
  types: {
    'recovery.refresh.requested': 'New shares of the key of an mpc wallet were requested.',
    'recovery.refresh.completed': 'The key of an mpc wallet has new shares. The old ones are useless.',
    'recovery.refresh.failed': 'New shares could not be made. The old ones stay in use.',
  },
  events: {
    // Keys, and what parties say about each other, are matters of the operator.
    MpcKeyGenerated: [],
    MpcKeyAssigned: [],
    MpcPartyAccused: [],
    MpcPartyBanned: [],
    MpcSharesRefreshRequested: ['recovery.refresh.requested'],
    MpcSharesRefreshed: ['recovery.refresh.completed'],
    MpcSharesRefreshFailed: ['recovery.refresh.failed'],
  },
  schema,
  render(source) {
    const [key] = projectChange(mpcKeyAggregate, source, 'mpc_keys')
    const [row] = projectChange(mpcKeyAggregate, source, 'mpc_refreshes')
    if (key?.wallet_id == null || row === undefined) return null
    const { key_id: _, ...refresh } = row
    const view = toRefresh(refresh as RefreshRow)
    return { resourceId: view.refresh_id, data: { wallet_id: key.wallet_id, ...view } }
  },
})
