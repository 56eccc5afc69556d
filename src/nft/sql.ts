/** SQL about the tables of tokens, for every folder that reads them. */

/** A voucher that waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many vouchers of the tenant `$1` wait. */
export const UNSIGNED_OF_TENANT = `SELECT count(*) FROM nft_vouchers v JOIN nft_mints m USING (mint_id) WHERE v.${UNSIGNED} AND m.tenant_id = $1`
