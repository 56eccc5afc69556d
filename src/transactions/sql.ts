/** SQL about the table `transactions`, for every folder that reads it. Each list of states goes behind `IN`. */
import { sqlList } from '../core/sql-list.ts'
import { FINAL_STATES, IN_BLOCK_STATES, IN_FLIGHT_STATES, UNMINED_STATES, UNSENT_STATES } from './state.ts'

export const UNMINED = sqlList(UNMINED_STATES)
export const IN_FLIGHT = sqlList(IN_FLIGHT_STATES)
export const UNSENT = sqlList(UNSENT_STATES)
export const MINED_OR_FINAL = sqlList(['mined', ...FINAL_STATES])
const IN_BLOCK = sqlList(IN_BLOCK_STATES)

/*
 * Conditions on a row of `transactions`, by the name that it has in the statement. Each begins with the condition of a
 * partial index. Those use only columns that few steps of a transaction change: PostgreSQL then writes no index for the
 * other steps.
 */

/** True of each state of UNMINED, and of no other. */
export const inNoBlock = (row: string) => `${row}.status = 'pending' AND ${row}.block_hash IS NULL`
/** True of `requested`, and of no other state. */
export const hasNoNonce = (row: string) =>
  `${row}.status = 'pending' AND ${row}.block_number IS NULL AND ${row}.nonce IS NULL`
/** True of each state of IN_FLIGHT, and of no other. */
export const hasNonce = (row: string) =>
  `${row}.status = 'pending' AND ${row}.block_number IS NULL AND ${row}.nonce IS NOT NULL`
/** True of `mined` and `cancelling`, and of no other state. */
export const inUnsettledBlock = (row: string) => `${row}.status = 'pending' AND ${row}.block_number IS NOT NULL`

export const isUnmined = (row: string) => `(${inNoBlock(row)} AND ${row}.state IN ${UNMINED})`
export const isInFlight = (row: string) => `(${hasNonce(row)} AND ${row}.state IN ${IN_FLIGHT})`
export const isWaiting = (row: string) => `(${hasNoNonce(row)} AND ${row}.state = 'requested')`
/** In a block that is not final, with its own bytes or those of its cancellation. */
export const isInBlock = (row: string) => `(${inUnsettledBlock(row)} AND ${row}.state IN ${IN_BLOCK})`
/** May still have the effect that it was requested for, and does not have it now: another block may still change that. */
export const isUndecided = (row: string) =>
  `(${row}.state IN ${UNMINED} OR ${row}.state = 'cancelling' OR (${row}.state = 'mined' AND NOT ${row}.succeeded))`

/** How many transactions of the tenant `$1` are in no block. Reads the index alone, which has no states. */
export const UNMINED_OF_TENANT = `SELECT count(*) FROM transactions WHERE tenant_id = $1 AND ${inNoBlock('transactions')}`

/** What other folders may read of each transaction: it stands behind FROM or JOIN, and is planned as the table itself. */
export const TRANSACTIONS = `(SELECT transaction_id, tenant_id, wallet_id, network, environment, chain_id, type, state, status, succeeded,
  hash, hashes, failure, from_address, to_address, asset_id, asset_symbol, asset_decimals, asset_contract, amount, amount_moved, nonce, block_number, block_hash, attention, depends_on, subject_type,
  subject_id, created_at, updated_at FROM transactions)`

/** What is held of each balance. */
export const HOLDS = '(SELECT wallet_id, asset_id, held FROM wallet_holds)'

/**
 * SQL condition: a row last changed at least this many milliseconds ago, by the clock of the database. Rows are stamped
 * by the clocks of processes: a time in the future comes from a clock that was set back since, so the real age is
 * unknown and counts as long.
 *
 * @param milliseconds the parameter of the statement, `$3`
 */
export function unchangedFor(milliseconds: string): string {
  const age = `${milliseconds}::double precision * interval '1 millisecond'`
  return `(updated_at < now() - ${age} OR updated_at > now() + interval '1 minute')`
}

/** What wallet addresses sent that no transaction of the log is. */
export const OUTSIDE = `(SELECT o.chain_id, o.address, o.hash FROM outside_transactions o WHERE NOT EXISTS (
  SELECT FROM transactions t WHERE t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce AND t.hashes::jsonb ? o.hash))`
