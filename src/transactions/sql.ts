/** SQL about the table `transactions`, for every folder that reads it. Each list of states goes behind `IN`. */
import { sqlList } from '../core/sql-list.ts'
import { FINAL_STATES, IN_FLIGHT_STATES, UNMINED_STATES, UNSENT_STATES } from './state.ts'

export const UNMINED = sqlList(UNMINED_STATES)
export const IN_FLIGHT = sqlList(IN_FLIGHT_STATES)
export const UNSENT = sqlList(UNSENT_STATES)
export const MINED_OR_FINAL = sqlList(['mined', ...FINAL_STATES])

/** How many transactions of the tenant `$1` are in no block. */
export const UNMINED_OF_TENANT = `SELECT count(*) FROM transactions WHERE tenant_id = $1 AND state IN ${UNMINED}`

/** What other folders may read of each transaction: it stands behind FROM or JOIN, and is planned as the table itself. */
export const TRANSACTIONS = `(SELECT transaction_id, tenant_id, wallet_id, network, environment, chain_id, type, state, status, succeeded,
  hash, hashes, failure, from_address, to_address, asset_id, nonce, block_number, attention, depends_on, subject_type, subject_id,
  created_at, updated_at FROM transactions)`

/** What is held of each balance. */
export const HOLDS = '(SELECT wallet_id, asset_id, held FROM wallet_holds)'
