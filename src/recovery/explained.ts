/** How `explain` reports an export of a key. */
import { explained } from '../capability.ts'
import { exportAggregate } from './aggregate.ts'

export const explainedExport = explained(exportAggregate, {
  kind: 'export',
  noun: 'export',
  texts: {
    WalletExportRequested: ({ walletId, recipient }) => `export of wallet ${walletId} requested for ${recipient}`,
    WalletExported: ({ ciphertextSha256, expiresAt }) =>
      `exported: file with SHA-256 ${ciphertextSha256}, deleted after ${expiresAt}`,
    WalletExportRefused: ({ code }) => `refused: ${code}`,
  },
})
