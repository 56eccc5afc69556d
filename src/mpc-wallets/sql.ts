/** SQL about the tables `mpc_keys` and `mpc_refreshes`, for every folder that reads them. */
import type { Refresh } from './state.ts'

/** An unfinished refresh. */
export const OPEN = `status = '${'pending' satisfies Refresh['status']}'`

/** How many refreshes of the tenant `$1` are unfinished. */
export const OPEN_OF_TENANT = `SELECT count(*) FROM mpc_refreshes r JOIN mpc_keys k USING (key_id) WHERE r.${OPEN} AND k.tenant_id = $1`

/** What other folders may read of each key: it stands behind FROM or JOIN, and is planned as the table itself. */
export const MPC_KEYS = '(SELECT key_id, wallet_id, tenant_id, threshold, parties FROM mpc_keys)'
