/** SQL about the table `signatures`, for every folder that reads it. */
import { WALLETS } from '../wallets/sql.ts'

/** Waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many signatures of the tenant `$1` wait. */
export const UNSIGNED_OF_TENANT = `SELECT count(*) FROM signatures WHERE tenant_id = $1 AND ${UNSIGNED}`

/** The owner of each signature of `$1`. */
export const OWNERS_OF_SIGNATURES = `SELECT s.signature_id AS id, w.tenant_id, w.type FROM signatures s JOIN ${WALLETS} w USING (wallet_id)
  WHERE s.signature_id = ANY ($1)`
