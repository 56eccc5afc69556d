/** The recovery routes and their dependencies. */
import type { Routes } from '../http/request.ts'
import { createExportReads } from '../recovery/read-exports.ts'
import { createRequestExport } from '../recovery/request-export.ts'
import { recoveryRoutes } from '../recovery/routes.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

export function composeRecoveryRoutes(kernel: Kernel, { accept, findWallet }: ApiParts): Routes {
  const { config, log, logger, metrics, newId } = kernel
  return recoveryRoutes({
    findWallet,
    reads: createExportReads(kernel),
    requestExport: createRequestExport({
      log,
      accept,
      newId,
      allowedRecipients: config.exportRecipients,
      onRequested(exportId, { tenantId, walletId, recipient }, { actor }) {
        const fields = { export_id: exportId, tenant_id: tenantId, wallet_id: walletId, recipient, actor }
        logger.warn(fields, 'export of a wallet key requested')
        metrics.countExport('requested')
      },
    }),
  })
}
