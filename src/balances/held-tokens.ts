/** The tokens of a wallet, as they were last observed. */
import type { Pool } from 'pg'

/** @returns the ERC-20 contracts of which the wallet has something, EIP-55 */
export async function readHeldTokens(pool: Pool, walletId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ token: string }>({
    name: 'held_tokens',
    text: `SELECT split_part(asset_id, '/erc20:', 2) AS token FROM balances
            WHERE wallet_id = $1 AND balance > 0 AND asset_id LIKE '%/erc20:%' ORDER BY 1`,
    values: [walletId],
  })
  return rows.map(({ token }) => token)
}
