/** Wallets created from the seeds of tenants, according to the log; a keystore is compared with them. */
import type { Pool } from 'pg'
import { BrokenChain } from '../event-log/broken-chain.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { WalletFactsOf } from './wallet-facts.ts'

export type SeedWallet = { readonly index: number; readonly address: string }

/** If the events of a wallet were edited, the next one is tried. */
const MAX_TRIED = 5

/** The oldest wallet of a tenant's seed; `null` when no valid one exists. */
export async function seedWalletOf(pool: Pool, factsOf: WalletFactsOf, tenantId: string): Promise<SeedWallet | null> {
  const { rows } = await pool.query<Pick<Row<'wallets'>, 'wallet_id'>>(
    `SELECT wallet_id FROM wallets WHERE tenant_id = $1 AND type = 'hd' AND address IS NOT NULL ORDER BY wallet_id LIMIT ${MAX_TRIED}`,
    [tenantId],
  )
  for (const { wallet_id: id } of rows) {
    const facts = await factsOf(id).catch((error: unknown) => {
      if (error instanceof BrokenChain) return null
      throw error
    })
    if (facts?.address && facts.key?.kind === 'hd' && facts.key.tenantId === tenantId)
      return { index: facts.key.index, address: facts.address }
  }
  return null
}

/** Whether any of these tenants has a wallet of its seed; true when no tenant has any. */
export async function anyHasSeedWallet(pool: Pool, tenantIds: readonly string[]): Promise<boolean> {
  const { rows } = await pool.query<{ any: boolean; named: boolean }>(
    `SELECT EXISTS (SELECT FROM wallets WHERE type = 'hd' AND address IS NOT NULL) AS any,
            EXISTS (SELECT FROM wallets WHERE type = 'hd' AND address IS NOT NULL AND tenant_id = ANY ($1)) AS named`,
    [tenantIds],
  )
  return rows[0]?.any === false || rows[0]?.named === true
}
