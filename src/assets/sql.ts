/** SQL about the table `assets`, for every folder that reads it. */

/** How many tokens the tenant `$1` has registered and not removed. */
export const REGISTERED_OF_TENANT = 'SELECT count(*) FROM assets WHERE tenant_id = $1 AND removed_at IS NULL'
