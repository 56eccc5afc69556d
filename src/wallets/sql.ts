/** SQL about the table `wallets`, for every folder that reads it. */
import type { WalletStatus } from './state.ts'

/** Waits for its key. */
export const REQUESTED = `status = '${'requested' satisfies WalletStatus}'`

/** Counts of the tenant `$1`. Archived wallets count too: their addresses are still followed. */
export const KEYED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND type <> 'watch'`
export const WATCHED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND type = 'watch'`
export const REQUESTED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND ${REQUESTED}`
