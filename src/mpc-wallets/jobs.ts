/** The work of mpc keys: refreshes that wait for new shares. */
import { streamWork } from '../jobs/work.ts'
import type { MpcKeyEvent } from './events.ts'
import { OPEN } from './sql.ts'

export const refreshWork = streamWork<MpcKeyEvent>({
  name: 'shares',
  queue: 'shares',
  category: 'mpckey',
  field: 'key_id',
  from: ['MpcSharesRefreshRequested'],
  waiting: `SELECT r.key_id AS id, k.tenant_id, r.requested_at AS at FROM mpc_refreshes r LEFT JOIN mpc_keys k USING (key_id)
    WHERE r.${OPEN} AND r.requested_at < $1`,
  owners: { tenants: 'SELECT key_id AS id, tenant_id FROM mpc_keys WHERE key_id = ANY ($1)' },
})
