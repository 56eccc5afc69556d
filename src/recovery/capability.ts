/** What recovery does: it exports keys of wallets, sealed for their owner. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { exportAggregate } from './aggregate.ts'
import { explainedExport } from './explained.ts'
import { exportWork } from './jobs.ts'

export const recovery: Capability = {
  aggregates: [anyAggregate(exportAggregate)],
  explains: [explainedExport],
  work: [exportWork],
  routes: async () => (await import('./build.ts')).buildRecovery,
}
