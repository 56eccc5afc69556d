/** SQL about the tables of tokens, for every folder that reads them. */

/** Collections of the tenant `$1` on the chain `$2` at the addresses `$3`, in lower case. */
export const COLLECTIONS_AT = `SELECT contract_address FROM nft_collections
  WHERE tenant_id = $1 AND chain_id = $2 AND lower(contract_address) = ANY($3)`

/** A voucher that waits for a signer. */
export const UNSIGNED = 'signature IS NULL'

/** How many vouchers of the tenant `$1` wait. */
export const UNSIGNED_OF_TENANT = `SELECT count(*) FROM nft_vouchers v JOIN nft_mints m USING (mint_id) WHERE v.${UNSIGNED} AND m.tenant_id = $1`

/** What other folders may read of each collection: it stands behind FROM or JOIN, and is planned as the table itself. */
export const COLLECTIONS = '(SELECT collection_id, tenant_id, chain_id, contract_address FROM nft_collections)'
