/** SQL about the tables of the follower, for every folder that reads them. */

/** Each stands behind FROM or JOIN, and is planned as the table itself. */
export const CURSORS = '(SELECT chain_id, updated_at FROM chain_cursors)'
export const STALLS = '(SELECT chain_id, reason, since, waits, refusal FROM chain_stalls)'
