/** Where the follower is on a chain, and the hashes that it remembers. Written with what the blocks meant, in one commit. */
import type { Pool } from 'pg'
import type { Block, BlockHeader, BlockRef } from '../chain/blocks.ts'
import { toQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'

/** Reorgs deeper than this are beyond every network's finality; the hash of block 0 is kept beside. */
const KEPT_HASHES = 512

export type Cursor = BlockRef

export async function readCursor(pool: Pool, chainId: number): Promise<Cursor | null> {
  const { rows } = await pool.query<{ number: string; hash: string }>(
    'SELECT number, hash FROM chain_cursors WHERE chain_id = $1',
    [chainId],
  )
  const [row] = rows
  return row === undefined ? null : { number: Number(row.number), hash: row.hash }
}

export async function readHashes(pool: Pool, chainId: number, from: number, to: number): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ number: string; hash: string }>({
    name: 'chain_hashes',
    text: 'SELECT number, hash FROM chain_blocks WHERE chain_id = $1 AND number BETWEEN $2 AND $3',
    values: [chainId, from, to],
  })
  return new Map(rows.map((row) => [Number(row.number), row.hash]))
}

/** Says that the node was heard, whether or not it had anything new: readiness reads the age of it. */
export async function touchCursor(pool: Pool, chainId: number, head: number): Promise<void> {
  await pool.query({
    name: 'touch_cursor',
    text: 'UPDATE chain_cursors SET head = $2, updated_at = now() WHERE chain_id = $1',
    values: [chainId, head],
  })
}

/** Forgets hashes that no reorg reaches any more, and those of a branch that was left. */
export async function pruneHashes(pool: Pool, chainId: number, cursor: number): Promise<void> {
  await pool.query({
    name: 'prune_hashes',
    text: 'DELETE FROM chain_blocks WHERE chain_id = $1 AND number > 0 AND (number < $2 OR number > $3)',
    values: [chainId, cursor - KEPT_HASHES, cursor],
  })
}

export function cursorRow(chainId: number, cursor: BlockRef, head: number, now: string): ReadModelRow {
  return {
    table: 'chain_cursors',
    row: { chain_id: chainId, number: cursor.number, hash: cursor.hash, head, updated_at: now },
  }
}

export function blockRow(
  chainId: number,
  block: Pick<Block, 'number' | 'hash' | 'parentHash' | 'timestamp'>,
): ReadModelRow {
  return {
    table: 'chain_blocks',
    row: {
      chain_id: chainId,
      number: block.number,
      hash: block.hash,
      parent_hash: block.parentHash,
      timestamp: block.timestamp,
    },
  }
}

/**
 * Where a chain that was never followed begins: a little below its head, so that nothing sent from now on is missed.
 * Gives the block and block 0, whose hash tells a chain that began anew.
 */
export async function firstBlocks(
  client: RpcReader,
  confirmations: number,
): Promise<(BlockHeader & { timestamp: number })[]> {
  const head = Number(await rpcCall(client, 'eth_blockNumber'))
  const start = Math.max(0, head - confirmations)
  return Promise.all(
    [...new Set([0, start])].map(async (number) =>
      header(await rpcCall(client, 'eth_getBlockByNumber', [toQuantity(number), false])),
    ),
  )
}

function header(block: unknown): BlockHeader & { timestamp: number } {
  const { number, hash, parentHash, timestamp } = block as Readonly<
    Record<'number' | 'hash' | 'parentHash' | 'timestamp', string>
  >
  return { number: Number(number), hash, parentHash, timestamp: Number(timestamp) }
}
