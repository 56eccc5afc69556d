/** Whether somebody is there to make keys, by the heartbeats of the signer processes. */
import type { Pool } from 'pg'
import type { KeyedType } from './events.ts'

/** A signer that has not beaten for so long is gone, or cannot reach the database. */
const FRESH_SECONDS = 15
/** The name under which the processes that make keys of a type beat. */
const PROCESS_OF: Readonly<Record<KeyedType, string>> = { hd: 'signer', mpc: 'mpc-party' }

export function createHasSigner(pool: Pool): (type: KeyedType) => Promise<boolean> {
  return async (type) => {
    const { rows } = await pool.query<{ alive: boolean }>({
      name: 'has_signer',
      text: `SELECT EXISTS (SELECT 1 FROM heartbeats
                             WHERE process = $1 AND beat_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds') AS alive`,
      values: [PROCESS_OF[type]],
    })
    return rows[0]?.alive === true
  }
}
