/** SQL about the table `wallets`, for every folder that reads it. */
import type { WalletStatus } from './state.ts'

/** Waits for its key. */
export const REQUESTED = `status = '${'requested' satisfies WalletStatus}'`

/** Counts of the tenant `$1`. Archived wallets count too: their addresses are still followed. */
export const KEYED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND type <> 'watch'`
export const WATCHED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND type = 'watch'`
const REQUESTED_OF_TENANT = `SELECT count(*) FROM wallets WHERE tenant_id = $1 AND ${REQUESTED}`
/** One that is opened from another wallet is soon done, whatever its type. */
export const MPC_REQUESTED_OF_TENANT = `${REQUESTED_OF_TENANT} AND type = 'mpc' AND opened_from IS NULL`
export const HD_REQUESTED_OF_TENANT = `${REQUESTED_OF_TENANT} AND (type = 'hd' OR opened_from IS NOT NULL)`

/** What other folders may read of each wallet: it stands behind FROM or JOIN, and is planned as the table itself. */
export const WALLETS = `(SELECT wallet_id, tenant_id, type, network, environment, chain_id, address, label, tags, external_id, status, key_ref,
  opened_from, notifications, created_at FROM wallets)`

/**
 * Wallets on the chains `$1` with the addresses `$2`, in lower case, whose keys this installation has. One that waits for its key
 * can have any address: who may request wallets wrote it.
 */
export const OWN_ADDRESSES = `SELECT DISTINCT tenant_id, environment, lower(address) AS address FROM wallets
  WHERE chain_id = ANY($1) AND lower(address) = ANY($2) AND key_ref IS NOT NULL`

export const TAGS_OF_WALLETS = 'SELECT wallet_id, tags FROM wallets WHERE wallet_id = ANY($1)'

/** The owner of the wallet behind each lane of `$1`. In other letters a name is that of no lane. */
export const OWNERS_OF_LANES = `SELECT lane.name AS id, w.tenant_id, w.type FROM unnest($1::text[]) AS lane(name) CROSS JOIN LATERAL
  (SELECT tenant_id, type FROM wallets WHERE chain_id = split_part(lane.name, '-', 1)::int
      AND lower(address) = lower(split_part(lane.name, '-', 2)) AND address = split_part(lane.name, '-', 2)
      AND type <> 'watch' LIMIT 1) AS w`
