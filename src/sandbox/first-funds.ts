/** Waits until the service has observed the faucets' funds, so that the first faucet request succeeds. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { BALANCES } from '../balances/sql.ts'
import { printText } from '../cli/printed.ts'
import { SANDBOX_TENANT } from '../core/tenants.ts'
import { WALLETS } from '../wallets/sql.ts'

const LOOK_MS = 50
/** The followers poll several times a second; a machine under load may take longer. */
const TIMEOUT_MS = 60_000
/** The native currency and the token of each faucet. */
const ASSETS_EACH = 2

/** Never rejects: a user can repeat a request that came too early. */
export async function awaitFaucetFunds(pool: Pool, faucets: number, timeoutMs = TIMEOUT_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    // An unavailable database counts as nothing observed.
    if ((await countSeen(pool).catch(() => 0)) >= faucets * ASSETS_EACH) return
    await sleep(LOOK_MS)
  }
  printText(process.stdout, '  ! the faucets are not funded yet: wait a moment before the first faucet request\n')
}

async function countSeen(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ seen: number }>(
    `SELECT count(*)::int AS seen FROM ${BALANCES} b JOIN ${WALLETS} w USING (wallet_id) WHERE w.tenant_id = $1 AND b.balance > 0`,
    [SANDBOX_TENANT],
  )
  return rows[0]?.seen ?? 0
}
