/**
 * Transaction ids of this cluster are behind those of the log after pg_restore into another server. New events would be
 * read before older ones, by readers that have passed their place already.
 *
 * Invariant: after `passIds` the next append gets a higher id than every event of the log.
 */
import type { Client, Pool } from 'pg'
import { withSessions } from './session.ts'

/** Consumed by one statement: a quarter of a second on a laptop. */
const IDS_AT_ONCE = 100_000

/** Reports how many ids were passed, and how many there are to pass. */
export type OnPassed = (passed: number, total: number) => void

/**
 * Consumes ids until the next one is higher than `newestId`: about 300,000 in a second, without a flush for each. Safe
 * while others use the server; a crash in between only leaves less to do.
 */
export async function passIds(session: Client, newestId: bigint, onPassed: OnPassed = () => undefined): Promise<void> {
  const missing = async () => {
    const { rows } = await session.query<{ missing: string }>(
      `SELECT greatest(0, $1::numeric + 1 - pg_current_xact_id()::text::numeric) AS missing`,
      [newestId.toString()],
    )
    return Number(rows[0]?.missing)
  }
  const total = await missing()
  for (let left = total; left > 0; left = await missing()) {
    const count = Math.min(left, IDS_AT_ONCE)
    await session.query(`DO $$ BEGIN FOR n IN 1..${count} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`)
    onPassed(total - left + count, total)
  }
}

/** Passes the ids of the log's newest event, if the cluster is behind it. */
export async function passLoggedIds(pool: Pool, onPassed: OnPassed): Promise<void> {
  const { rows } = await pool.query<{ newest: string }>(
    `SELECT e.transaction_id::text AS newest FROM events e
      WHERE e.transaction_id >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY e.transaction_id DESC LIMIT 1`,
  )
  const [row] = rows
  if (row === undefined) return
  await withSessions(pool, ['ids'], (session) => passIds(session, BigInt(row.newest), onPassed))
  // Commits that write nothing are not flushed: a crash would give their ids again.
  await pool.query(
    'WITH flushed AS MATERIALIZED (SELECT be_durable()) UPDATE schema_versions SET oldest_program = oldest_program FROM flushed',
  )
}
