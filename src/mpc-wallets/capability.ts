/** What mpc keys do: parties hold shares of them, and make new shares. */
import { type Capability, explained } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { streamWork } from '../jobs/work.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import type { MpcKeyEvent } from './events.ts'
import { mpcKeyGauges } from './gauges.ts'
import { mpcKeyProblems } from './key-problems.ts'
import { refreshTask } from './schedule-refreshes.ts'
import { OPEN, OPEN_OF_TENANT } from './sql.ts'

/** The work of mpc keys: refreshes that wait for new shares. */
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

/** How `explain` reports an mpc key. */
const explainedMpcKey = explained(mpcKeyAggregate, {
  prefix: 'mpk',
  noun: 'mpc key',
  texts: {
    MpcKeyGenerated: ({ address, threshold, parties }) =>
      `generated with address ${address}, ${threshold} of ${parties.length} parties`,
    MpcKeyAssigned: ({ walletId, tenantId }) => `assigned to wallet ${walletId} of tenant ${tenantId}`,
    MpcSharesRefreshRequested: ({ refreshId, reason }) => `share refresh ${refreshId} requested: ${reason}`,
    MpcSharesRefreshed: ({ refreshId, epoch }) => `shares refreshed by ${refreshId}: epoch ${epoch}`,
    MpcSharesRefreshFailed: ({ refreshId, message }) => `share refresh ${refreshId} failed: ${message}`,
    MpcPartyAccused: ({ party, accusedBy, reason }) => `party ${accusedBy} accused party ${party}: ${reason}`,
    MpcPartyBanned: ({ party, reason }) => `party ${party} banned until the next refresh: ${reason}`,
  },
})

const aggregate = anyAggregate(mpcKeyAggregate)

export const mpcKeys: Capability = {
  aggregates: [aggregate],
  publishes: async () => [(await import('./published.ts')).publishedRefreshes],
  explains: [explainedMpcKey],
  verified: [{ table: 'mpc_keys', aggregate, streamOf: `'mpckey-' || r.key_id` }],
  gauges: mpcKeyGauges,
  keyKinds: {
    mpc: {
      problems: mpcKeyProblems,
      parties: ({ mpc }) => [...(mpc?.addresses?.keys() ?? [])],
      open: async (...of) => (await import('./hold-keys.ts')).openJointKeys(...of),
      shared: async () => (await import('./shared-keys.ts')).sharedKeys,
    },
  },
  work: [refreshWork],
  forOperators: () => import('./for-operators.ts'),
  tasks: [refreshTask],
  usage: { ceremonies: OPEN_OF_TENANT },
  routes: async () => (await import('./routes.ts')).shareRoutes,
}
