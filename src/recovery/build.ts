/** The routes of recovery, with their use cases. */
import type { ApiContext } from '../api-context.ts'
import { createExportReads } from './read-exports.ts'
import { createRequestExport } from './request-export.ts'
import { recoveryRoutes } from './routes.ts'

export function buildRecovery(needs: ApiContext) {
  const { config, log, logger, metrics, newId, accept, findWallet, judge } = needs
  return recoveryRoutes({
    findWallet,
    reads: createExportReads(needs),
    requestExport: createRequestExport({
      log,
      accept,
      newId,
      allowedRecipients: config.exportRecipients,
      judge: judge.export,
      onRequested(exportId, { tenantId, walletId, recipient }, { actor }) {
        const fields = { export_id: exportId, tenant_id: tenantId, wallet_id: walletId, recipient, actor }
        logger.warn(fields, 'export of a wallet key requested')
        metrics.countExport('requested')
      },
    }),
  })
}
