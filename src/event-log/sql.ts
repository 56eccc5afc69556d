/**
 * What other folders may read of the log and of the tables beside it. Each stands behind FROM or JOIN, and is planned as
 * the table itself.
 */
import { DATABASE_EPOCH } from './database-epoch.ts'

export const EVENTS = `(SELECT position, transaction_id, stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash
  FROM events)`
export const CHECKPOINTS = '(SELECT name, transaction_id, position FROM checkpoints)'
export const HEARTBEATS = '(SELECT process, instance, beat_at, problem FROM heartbeats)'
export const LEASES = '(SELECT name, holder, fence, expires_at FROM leases)'

/**
 * The statement that saves the place of a subscription: `$1` its name, `$2` and `$3` the place, `$4` the epoch of the
 * database under which it was read, or NULL. Returns no row where the checkpoint would move back, or the database was
 * restored since.
 */
export const SAVE_CHECKPOINT = `INSERT INTO checkpoints (name, transaction_id, position) SELECT $1, $2::xid8, $3::bigint
   WHERE $4::text IS NULL OR $4 = ${DATABASE_EPOCH}
  ON CONFLICT (name) DO UPDATE SET transaction_id = excluded.transaction_id, position = excluded.position, updated_at = now()
   WHERE (checkpoints.transaction_id, checkpoints.position) < (excluded.transaction_id, excluded.position)
  RETURNING name`

/**
 * As `SAVE_CHECKPOINT`, only from `$5`, `$6`: of several processes that read from there one moves it, so that what its
 * statement writes is written once. `0`, `0` where there is none yet.
 */
export const MOVE_CHECKPOINT = `INSERT INTO checkpoints (name, transaction_id, position) SELECT $1, $2::xid8, $3::bigint WHERE $4 = ${DATABASE_EPOCH}
  ON CONFLICT (name) DO UPDATE SET transaction_id = excluded.transaction_id, position = excluded.position, updated_at = now()
   WHERE checkpoints.transaction_id = $5::xid8 AND checkpoints.position = $6::bigint
  RETURNING name`
