/** The follower's queries on observed transfers, from the read model: one for any number of blocks and transfers. */
import type { Pool, QueryConfig } from 'pg'
import type { BlockRef } from '../chain/blocks.ts'
import type { Row } from '../event-log/table-rows.ts'
import { DETECTED, STANDS } from './sql.ts'

/** Further ones are confirmed in the next round. */
const MAX_CONFIRMED = 2_000
/** Blocks per page: as many headers are read in a batch. */
const BLOCKS_OF_PAGE = 64

/** Detected in this block or below, in the order of the chain, at most as many as one round confirms. */
export function transfersUpTo(pool: Pool, chainId: number, block: number): Promise<string[]> {
  return idsOf(pool, {
    name: 'transfers_deep_enough',
    text: `SELECT transfer_id FROM observed_transfers WHERE chain_id = $1 AND ${DETECTED} AND block_number <= $2
          ORDER BY block_number, place LIMIT ${MAX_CONFIRMED}`,
    values: [chainId, block],
  })
}

/** Detected or confirmed in a block above this one, in the order of the chain. */
export function transfersAbove(pool: Pool, chainId: number, block: number): Promise<string[]> {
  return idsOf(pool, {
    name: 'transfers_above',
    text: `SELECT transfer_id FROM observed_transfers WHERE chain_id = $1 AND block_number > $2 AND ${STANDS}
          ORDER BY block_number, place`,
    values: [chainId, block],
  })
}

async function idsOf(pool: Pool, query: QueryConfig<unknown[]>): Promise<string[]> {
  const { rows } = await pool.query<Pick<Row<'observed_transfers'>, 'transfer_id'>>(query)
  return rows.map((row) => row.transfer_id)
}

/** Blocks with observed transfers, this one and below, newest first; one page. */
export async function blocksOfTransfers(pool: Pool, chainId: number, upTo: number): Promise<BlockRef[]> {
  const { rows } = await pool.query<Pick<Row<'observed_transfers'>, 'block_number' | 'block_hash'>>({
    name: 'blocks_of_transfers',
    text: `SELECT DISTINCT block_number, block_hash FROM observed_transfers
                WHERE chain_id = $1 AND block_number <= $2 AND ${STANDS}
                ORDER BY block_number DESC LIMIT ${BLOCKS_OF_PAGE}`,
    values: [chainId, upTo],
  })
  return rows.map((row) => ({ number: Number(row.block_number), hash: row.block_hash }))
}
