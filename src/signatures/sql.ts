/** SQL about the table `signatures`, for every folder that reads it. */

/** Waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many signatures of the tenant `$1` wait. */
export const UNSIGNED_OF_TENANT = `SELECT count(*) FROM signatures WHERE tenant_id = $1 AND ${UNSIGNED}`
