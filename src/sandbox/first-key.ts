/** Waits until the pool has a joint key, so that the first mpc wallet of a new sandbox is ready immediately. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { printText } from '../cli/printed.ts'
import type { MpcConfig } from '../mpc-wallets/settings.ts'
import { MPC_KEYS } from '../mpc-wallets/sql.ts'
import { step } from './steps.ts'

const LOOK_MS = 250
/** The parties take some seconds; if they take longer, everything else must be usable. */
const TIMEOUT_MS = 90_000

/** Does nothing when the pool is turned off. Never rejects: an mpc wallet can be requested without a pooled key. */
export async function awaitFirstKey(
  pool: Pool,
  mpc: Pick<MpcConfig, 'threshold' | 'parties' | 'poolSize'> | null,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  if (mpc === null || mpc.poolSize === 0) return
  try {
    await step('first mpc key', () => untilKeyAhead(pool, mpc, timeoutMs))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    printText(process.stdout, `  ! ${why}: the first mpc wallet gets its address later\n`)
  }
}

async function untilKeyAhead(
  pool: Pool,
  { threshold, parties }: Pick<MpcConfig, 'threshold' | 'parties'>,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    const { rows } = await pool.query<{ ahead: boolean }>(
      `SELECT EXISTS (SELECT FROM ${MPC_KEYS} AS mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2) AS ahead`,
      [threshold, parties],
    )
    if (rows[0]?.ahead === true) return
    await sleep(LOOK_MS)
  }
  throw new Error(`the parties did not create an mpc key in ${timeoutMs / 1_000} seconds`)
}
