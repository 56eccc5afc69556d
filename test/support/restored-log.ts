/** A log whose transaction ids are those of another server, as pg_restore leaves it. */
import type { Pool } from 'pg'

/**
 * @param ahead how far its ids are ahead of this server
 * @param after the position after which the events came from there
 */
export async function restoreFromElsewhere(pool: Pool, ahead: number, after = 0): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('SET session_replication_role = replica')
    const moved = 'transaction_id = (transaction_id::text::numeric + $1)::text::xid8'
    for (const table of ['events', 'checkpoints'])
      await client.query(`UPDATE ${table} SET ${moved} WHERE position > $2`, [ahead, after])
  } finally {
    await client.query('RESET session_replication_role')
    client.release()
  }
}
