/** What other folders may read of the tables beside the log. Each stands behind FROM or JOIN, and is planned as the table itself. */

export const CHECKPOINTS = '(SELECT name, transaction_id, position FROM checkpoints)'
export const HEARTBEATS = '(SELECT process, instance, beat_at, problem FROM heartbeats)'
export const LEASES = '(SELECT name, holder, fence, expires_at FROM leases)'
