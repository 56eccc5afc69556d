/** What mpc keys do: parties hold shares of them, and make new shares. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { mpcKeyAggregate } from './aggregate.ts'
import { explainedMpcKey } from './explained.ts'
import { mpcKeyGauges } from './gauges.ts'
import { refreshWork } from './jobs.ts'
import { refreshTask } from './schedule-refreshes.ts'
import { OPEN_OF_TENANT } from './sql.ts'

const aggregate = anyAggregate(mpcKeyAggregate)

export const mpcKeys: Capability = {
  aggregates: [aggregate],
  publishes: async () => [(await import('./published.ts')).publishedRefreshes],
  explains: [explainedMpcKey],
  verified: [{ table: 'mpc_keys', aggregate, streamOf: `'mpckey-' || r.key_id` }],
  gauges: mpcKeyGauges,
  work: [refreshWork],
  tasks: [refreshTask],
  usage: { ceremonies: OPEN_OF_TENANT },
  routes: async () => (await import('./routes.ts')).shareRoutes,
}
