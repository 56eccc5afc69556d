/**
 * Whether a process can create keys, by the heartbeats of signers and parties, and by the pool of keys created in
 * advance.
 */
import type { Pool } from 'pg'
import { HEARTBEATS } from '../event-log/sql.ts'
import type { MpcTerms } from './events.ts'

/** A process without a heartbeat for this many seconds is dead, or cannot reach the database. */
export const FRESH_SECONDS = 15
const FRESH = `beat_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`

/** SQL: number of live parties. */
export const LIVE_MPC_PARTIES = `(SELECT count(*) FROM ${HEARTBEATS} AS heartbeats WHERE process LIKE 'mpc-party%' AND ${FRESH})`

/**
 * Whether a wallet's key can be created now.
 *
 * @param mpc `null` for an hd key. An mpc key can be created when all its parties are alive, or the pool has one.
 */
export async function hasSigner(pool: Pool, mpc: MpcTerms | null): Promise<boolean> {
  const { rows } = await pool.query<{ signer: boolean; shareholders: boolean }>({
    name: 'has_signer',
    text: `SELECT EXISTS (SELECT 1 FROM ${HEARTBEATS} AS heartbeats WHERE process = 'signer' AND ${FRESH}) AS signer,
                  ${LIVE_MPC_PARTIES} >= $2
                  OR EXISTS (SELECT 1 FROM mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2) AS shareholders`,
    values: [mpc?.threshold ?? 0, mpc?.parties ?? 0],
  })
  return rows[0]?.signer === true && (mpc === null || rows[0].shareholders)
}
