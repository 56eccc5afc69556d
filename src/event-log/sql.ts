/**
 * What other folders may read of the log and of the tables beside it. Each stands behind FROM or JOIN, and is planned as
 * the table itself.
 */

export const EVENTS = `(SELECT position, transaction_id, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash
  FROM events)`
export const CHECKPOINTS = '(SELECT name, transaction_id, position FROM checkpoints)'
export const HEARTBEATS = '(SELECT process, instance, beat_at, problem FROM heartbeats)'
export const LEASES = '(SELECT name, holder, fence, expires_at FROM leases)'
