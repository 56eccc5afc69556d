/** Whether somebody is there to make keys, by the heartbeats of the processes that do, and by the keys made ahead. */
import type { Pool } from 'pg'
import type { MpcTerms } from './events.ts'

/** A process that has not beaten for so long is gone, or cannot reach the database. */
export const FRESH_SECONDS = 15
const FRESH = `beat_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`

/** SQL: how many parties live. */
export const LIVE_MPC_PARTIES = `(SELECT count(*) FROM heartbeats WHERE process LIKE 'mpc-party%' AND ${FRESH})`

/**
 * Whether a wallet's key can be made now.
 *
 * @param mpc `null` for an hd key. A key for terms of mpc is made when all its parties live, or lies in the pool.
 */
export type HasSigner = (mpc: MpcTerms | null) => Promise<boolean>

export function createHasSigner(pool: Pool): HasSigner {
  return async (mpc) => {
    const { rows } = await pool.query<{ signer: boolean; shareholders: boolean }>({
      name: 'has_signer',
      text: `SELECT EXISTS (SELECT 1 FROM heartbeats WHERE process = 'signer' AND ${FRESH}) AS signer,
                    ${LIVE_MPC_PARTIES} >= $2
                    OR EXISTS (SELECT 1 FROM mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2) AS shareholders`,
      values: [mpc?.threshold ?? 0, mpc?.parties ?? 0],
    })
    return rows[0]?.signer === true && (mpc === null || rows[0].shareholders)
  }
}
