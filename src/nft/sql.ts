/** SQL about the tables of tokens, for every folder that reads them. */
import { WALLETS } from '../wallets/sql.ts'

/** A voucher that waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many vouchers of the tenant `$1` wait. */
export const UNSIGNED_OF_TENANT = `SELECT count(*) FROM nft_vouchers v JOIN nft_mints m USING (mint_id) WHERE v.${UNSIGNED} AND m.tenant_id = $1`

/** The owner of each voucher of `$1`. */
export const OWNERS_OF_VOUCHERS = `SELECT v.mint_id AS id, w.tenant_id, w.type FROM nft_vouchers v JOIN ${WALLETS} w USING (wallet_id)
  WHERE v.mint_id = ANY ($1)`
