/** SQL about the table `transactions`, for every folder that reads it. Each list of states goes behind `IN`. */
import { sqlList } from '../core/sql-list.ts'
import { FINAL_STATES, IN_FLIGHT_STATES, UNMINED_STATES, UNSENT_STATES } from './state.ts'

export const UNMINED = sqlList(UNMINED_STATES)
export const IN_FLIGHT = sqlList(IN_FLIGHT_STATES)
export const UNSENT = sqlList(UNSENT_STATES)
export const MINED_OR_FINAL = sqlList(['mined', ...FINAL_STATES])

/** How many transactions of the tenant `$1` are in no block. */
export const UNMINED_OF_TENANT = `SELECT count(*) FROM transactions WHERE tenant_id = $1 AND state IN ${UNMINED}`
