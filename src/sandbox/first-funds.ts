/** Waits until the service has seen what its faucets were paid, so that whoever asks for play money first gets it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { FAUCET_TENANT } from './faucet/faucet-wallet.ts'

const LOOK_MS = 50
/** The followers look several times a second; a machine under load may take longer. */
const TIMEOUT_MS = 60_000
/** Of each faucet the native currency and the token. */
const ASSETS_EACH = 2

/** Never rejects: what is seen late can be asked for again. */
export async function awaitFaucetFunds(pool: Pool, faucets: number, timeoutMs = TIMEOUT_MS): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    // A database that is away has seen nothing.
    if ((await countSeen(pool).catch(() => 0)) >= faucets * ASSETS_EACH) return
    await sleep(LOOK_MS)
  }
  process.stdout.write('  ! the faucets have not seen their funds yet: ask them again in a moment\n')
}

async function countSeen(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ seen: number }>(
    `SELECT count(*)::int AS seen FROM balances b JOIN wallets w USING (wallet_id) WHERE w.tenant_id = $1 AND b.balance > 0`,
    [FAUCET_TENANT],
  )
  return rows[0]?.seen ?? 0
}
