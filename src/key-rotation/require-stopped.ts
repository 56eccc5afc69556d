/**
 * The precondition of a key-encryption key rotation: no process that holds the old key in memory is running, and no
 * other rotation. A restore of seeds excludes rotations in the same way.
 */
import type { Pool, PoolClient } from 'pg'
import { Conflict } from '../core/errors.ts'
import { HEARTBEATS } from '../event-log/sql.ts'
import type { Row } from '../event-log/table-rows.ts'
import { FRESH_SECONDS } from '../wallets/signer-presence.ts'

/** As `try_lock_rotations` takes it. */
const ROTATION_LOCK = 727_073_692

export type RequireStopped = () => Promise<void>

/**
 * Runs a rotation alone, without the processes that hold the old key.
 *
 * @param processes the name in their heartbeats: `signer`, `mpc-party-2`
 * @param work gets a check that throws Conflict `process_running` while one of them is alive; it also fails when the
 *   connection with the lock is gone
 * @throws Conflict `rotation_running`, `process_running`
 */
export async function rotateAlone<T>(
  pool: Pool,
  processes: string,
  work: (requireStopped: RequireStopped) => Promise<T>,
): Promise<T> {
  return withoutRotation(pool, async (client) => {
    await requireStopped(client, processes)
    return work(() => requireStopped(client, processes))
  })
}

/**
 * Runs what no rotation, and nothing else that is run so, may overlap. The lock ends with the connection, so a killed
 * process blocks nobody.
 *
 * @param work gets the connection that has the lock
 * @throws Conflict `rotation_running`
 */
export async function withoutRotation<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let isLocked = false
  try {
    const { rows } = await client.query<{ locked: boolean }>('SELECT try_lock_rotations() AS locked')
    isLocked = rows[0]?.locked === true
    if (!isLocked) {
      throw new Conflict(
        'rotation_running',
        'Another key rotation, or a restore of seeds, is running on this database: wait until it has ended.',
      )
    }
    return await work(client)
  } finally {
    // Not left to the end of the connection, which the next command may overtake. A lost connection has no lock.
    if (isLocked) await client.query('SELECT pg_advisory_unlock($1)', [ROTATION_LOCK]).catch(() => undefined)
    client.release(true)
  }
}

async function requireStopped(client: PoolClient, processes: string): Promise<void> {
  const { rows } = await client.query<Pick<Row<'heartbeats'>, 'instance'> & { seconds: string }>(
    `SELECT instance, round(extract(epoch FROM clock_timestamp() - beat_at)) AS seconds FROM ${HEARTBEATS} AS heartbeats
      WHERE process = $1 AND beat_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds' ORDER BY beat_at DESC`,
    [processes],
  )
  const [newest] = rows
  if (newest === undefined) return
  throw new Conflict(
    'process_running',
    `${processes} is running as ${newest.instance} (last heartbeat ${newest.seconds} s ago) and uses the old key: stop every ${processes}, ` +
      `then run this again. A killed process counts as running for ${FRESH_SECONDS} s.`,
  )
}
