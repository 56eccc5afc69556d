/** The holders of tokens as of the newest processed block. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'

export type TokenOwner = {
  /** EIP-55. */
  readonly owner: string
  /** Units of the token; 1 for ERC-721. */
  readonly amount: string
}

/** An ERC-1155 token may have a million holders: a response lists at most this many. */
const MAX_OWNERS = 100

/**
 * @param contract EIP-55
 * @returns by token id, largest holder first; a token without holders is left out: not minted yet, or burnt
 */
export async function readOwners(
  pool: Pool,
  chainId: number,
  contract: string,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, readonly TokenOwner[]>> {
  const { rows } = await pool.query<Pick<Row<'nft_owners'>, 'token_id' | 'owner' | 'amount'>>({
    name: 'owners_of_tokens',
    text: `SELECT wanted.token_id, o.owner, o.amount FROM unnest($3::numeric[]) AS wanted(token_id)
            CROSS JOIN LATERAL (SELECT owner, amount FROM nft_owners n
              WHERE n.chain_id = $1 AND n.contract = $2 AND n.token_id = wanted.token_id AND n.amount > 0
              ORDER BY n.amount DESC, n.owner LIMIT $4) AS o`,
    values: [chainId, contract, tokenIds, MAX_OWNERS],
  })
  const owners = new Map<string, TokenOwner[]>()
  for (const { token_id, owner, amount } of rows) {
    const known = owners.get(token_id) ?? []
    known.push({ owner, amount })
    owners.set(token_id, known)
  }
  return owners
}
