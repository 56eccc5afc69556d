/** What recovery does: it exports keys of wallets, sealed for their owner. */
import { type Capability, explained } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { exportAggregate } from './aggregate.ts'
import type { WalletExportRequested } from './events.ts'
import { expiryTask, exportWork } from './jobs.ts'
import { exportProblem, sealExport } from './seal-export.ts'
import { REQUESTED_OF_TENANT } from './sql.ts'

/** How `explain` reports an export of a key. */
const explainedExport = explained(exportAggregate, {
  prefix: 'exp',
  noun: 'export',
  texts: {
    WalletExportRequested: ({ walletId, recipient }) => `export of wallet ${walletId} requested for ${recipient}`,
    WalletExported: ({ ciphertextSha256, expiresAt }) =>
      `exported: file with SHA-256 ${ciphertextSha256}, deleted after ${expiresAt}`,
    WalletExportRefused: ({ code }) => `refused: ${code}`,
  },
})

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
  jobs: [
    {
      queue: 'export',
      process: 'signer',
      concurrency: 2,
      seesSeeds: true,
      handle({ factsOf: walletOf, problemOf, ...needs }) {
        const sealing = { ...needs, walletOf, problemOf: problemOf('export_id', exportProblem) }
        return ({ export_id }) => sealExport(sealing, export_id ?? '')
      },
    },
  ],
  tasks: [expiryTask],
  usage: { ceremonies: REQUESTED_OF_TENANT },
  routes: async () => (await import('./routes.ts')).recoveryRoutes,
}
