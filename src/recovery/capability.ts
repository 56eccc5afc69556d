/** What recovery does: it exports keys of wallets, sealed for their owner. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { exportAggregate } from './aggregate.ts'
import type { WalletExportRequested } from './events.ts'
import { explainedExport } from './explained.ts'
import { expiryTask, exportWork } from './jobs.ts'
import { REQUESTED_OF_TENANT } from './sql.ts'

export const recovery: Capability = {
  aggregates: [anyAggregate(exportAggregate)],
  publishes: async () => [(await import('./published.ts')).publishedExports],
  explains: [explainedExport],
  past: {
    passing: {
      WalletExportRequested: ({ walletId, requestedAt }: WalletExportRequested['data']) => [
        { is: 'export', walletId, requestedAt },
      ],
    },
  },
  work: [exportWork],
  tasks: [expiryTask],
  usage: { ceremonies: REQUESTED_OF_TENANT },
  routes: async () => (await import('./routes.ts')).recoveryRoutes,
}
