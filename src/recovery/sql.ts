/** SQL about the table `wallet_exports`, for every folder that reads it. */
import type { ExportStatus } from './state.ts'

/** Waits for a signer. */
export const REQUESTED = `status = '${'requested' satisfies ExportStatus}'`

/** How many exports of the tenant `$1` wait. */
export const REQUESTED_OF_TENANT = `SELECT count(*) FROM wallet_exports WHERE tenant_id = $1 AND ${REQUESTED}`
