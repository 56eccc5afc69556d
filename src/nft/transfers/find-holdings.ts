/** A sender's holdings of tokens and its pending transfers of them, in one query, so that both are consistent. */
import type { Pool } from 'pg'
import type { Row } from '../../event-log/table-rows.ts'
import { isUndecided, TRANSACTIONS } from '../../transactions/sql.ts'

/** Of one token, in units. */
export type HeldToken = {
  readonly tokenId: string
  /** The sender's holding according to the chain. */
  readonly owned: bigint
  /** What the sender's other unmined transfers move away. */
  readonly leaving: bigint
  /** One of those transfers. */
  readonly leavingBy: string | null
  /** The number of transfers of this token that the sender has requested. */
  readonly transfers: number
  /** Pending mints to the sender, and their transaction. */
  readonly minting: { readonly amount: bigint; readonly transactionId: string } | null
  /** Any current holder. */
  readonly holder: string | null
}

export type HoldingsQuery = {
  readonly collectionId: string
  /** The collection whose pending mints count; `null` for another tenant's, whose mints are not known. */
  readonly mintsOf: string | null
  readonly chainId: number
  readonly contract: string
  readonly from: string
  readonly tokenIds: readonly string[]
}

type Item = Row<'nft_transfer_items'>

type HoldingRow = {
  readonly token_id: Item['token_id']
  readonly owned: Row<'nft_owners'>['amount']
  readonly leaving: Item['amount']
  readonly leaving_by: Item['transfer_id'] | null
  readonly transfers: Item['sequence']
  readonly minting_by: Row<'nft_tokens'>['transaction_id']
  readonly minting: Row<'nft_tokens'>['amount'] | null
  readonly holder: Row<'nft_owners'>['owner'] | null
}

const UNDER_WAY = isUndecided('t')

/** @returns in the order of the ids */
export async function findHoldings(pool: Pool, query: HoldingsQuery): Promise<HeldToken[]> {
  const { rows } = await pool.query<HoldingRow>({
    name: 'held_tokens',
    text: `WITH under_way AS MATERIALIZED
             (SELECT i.token_id, i.amount, i.transfer_id FROM ${TRANSACTIONS} t JOIN nft_transfer_items i USING (transaction_id)
               WHERE t.chain_id = $2 AND t.from_address = $4 AND t.type = 'NFT_TRANSFER' AND i.collection_id = $1 AND ${UNDER_WAY})
           SELECT wanted.token_id, coalesce(own.amount, 0) AS owned, leaving.amount AS leaving, leaving.transfer_id AS leaving_by,
                  coalesce(before.transfers, 0) AS transfers, minting.transaction_id AS minting_by, minting.amount AS minting,
                  other.owner AS holder
             FROM unnest($5::numeric[]) WITH ORDINALITY AS wanted(token_id, n)
             LEFT JOIN nft_owners own
               ON own.chain_id = $2 AND own.contract = $3 AND own.token_id = wanted.token_id AND own.owner = $4
            CROSS JOIN LATERAL (SELECT coalesce(sum(u.amount), 0) AS amount, max(u.transfer_id) AS transfer_id
                                  FROM under_way u WHERE u.token_id = wanted.token_id) AS leaving
             LEFT JOIN LATERAL (SELECT i.sequence AS transfers FROM nft_transfer_items i
                                 WHERE i.collection_id = $1 AND i.token_id = wanted.token_id AND i.from_address = $4
                                 ORDER BY i.sequence DESC LIMIT 1) AS before ON true
             LEFT JOIN LATERAL (SELECT k.transaction_id, k.amount FROM nft_tokens k JOIN ${TRANSACTIONS} t USING (transaction_id)
                                 WHERE k.collection_id = $6 AND k.recipient = $4 AND ${UNDER_WAY}
                                   AND k.token_id = CASE WHEN wanted.token_id < 2::numeric ^ 63 THEN wanted.token_id::bigint END
                               ) AS minting ON true
             LEFT JOIN LATERAL (SELECT o.owner FROM nft_owners o WHERE o.chain_id = $2 AND o.contract = $3
                                   AND o.token_id = wanted.token_id AND o.amount > 0 LIMIT 1) AS other ON true
            ORDER BY wanted.n`,
    values: [query.collectionId, query.chainId, query.contract, query.from, query.tokenIds, query.mintsOf],
  })
  return rows.map(toHeld)
}

function toHeld(row: HoldingRow): HeldToken {
  const { minting, minting_by } = row
  return {
    tokenId: row.token_id,
    owned: BigInt(row.owned),
    leaving: BigInt(row.leaving),
    leavingBy: row.leaving_by,
    transfers: row.transfers,
    minting: minting === null || minting_by === null ? null : { amount: BigInt(minting), transactionId: minting_by },
    holder: row.holder,
  }
}
