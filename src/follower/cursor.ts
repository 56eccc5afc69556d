/** Where the follower is on a chain, and the hashes that it remembers. Written with what the blocks meant, in one commit. */
import type { Pool } from 'pg'
import type { Block, BlockHeader, BlockRef } from '../chain/blocks.ts'
import { toQuantity } from '../chain/hex.ts'
import { type RpcReader, rpcCall } from '../chain/json-rpc.ts'
import { Unavailable } from '../core/errors.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'

/** Reorgs deeper than this are beyond every network's finality; the hash of block 0 is kept beside. */
const KEPT_HASHES = 512

export type Cursor = BlockRef

/** What of the walked chain is kept beside the log, for the follower to go on from. */
export type WalkedBlocks = {
  readonly cursor: (chainId: number) => Promise<Cursor | null>
  /** Hashes by number, for all kept numbers in `from … to`, both included. */
  readonly hashes: (chainId: number, from: number, to: number) => Promise<ReadonlyMap<number, string>>
  /** The hash of one block; `null` when it is not kept. */
  readonly hash: (chainId: number, block: number) => Promise<string | null>
  /** Says that the node was heard, whether or not it had anything new: readiness reads the age of it. */
  readonly heard: (chainId: number, head: number) => Promise<void>
  /**
   * Forgets hashes so far below the cursor that no reorg reaches them. Those above it, of a branch that was left, stay until
   * the blocks that follow take their places: this is not fenced, and a follower that was overtaken must not forget what
   * its successor has walked.
   */
  readonly prune: (chainId: number, cursor: number) => Promise<void>
}

export function createWalkedBlocks(pool: Pool): WalkedBlocks {
  return {
    async cursor(chainId) {
      const { rows } = await pool.query<{ number: string; hash: string }>({
        name: 'chain_cursor',
        text: 'SELECT number, hash FROM chain_cursors WHERE chain_id = $1',
        values: [chainId],
      })
      const [row] = rows
      return row === undefined ? null : { number: Number(row.number), hash: row.hash }
    },
    async hashes(chainId, from, to) {
      const { rows } = await pool.query<{ number: string; hash: string }>({
        name: 'chain_hashes',
        text: 'SELECT number, hash FROM chain_blocks WHERE chain_id = $1 AND number BETWEEN $2 AND $3',
        values: [chainId, from, to],
      })
      return new Map(rows.map((row) => [Number(row.number), row.hash]))
    },
    async hash(chainId, block) {
      const { rows } = await pool.query<{ hash: string }>({
        name: 'hash_of_block',
        text: 'SELECT hash FROM chain_blocks WHERE chain_id = $1 AND number = $2',
        values: [chainId, block],
      })
      return rows[0]?.hash ?? null
    },
    async heard(chainId, head) {
      await pool.query({
        name: 'touch_cursor',
        text: 'UPDATE chain_cursors SET head = $2, updated_at = now() WHERE chain_id = $1',
        values: [chainId, head],
      })
    },
    async prune(chainId, cursor) {
      await pool.query({
        name: 'prune_hashes',
        text: 'DELETE FROM chain_blocks WHERE chain_id = $1 AND number > 0 AND number < $2',
        values: [chainId, cursor - KEPT_HASHES],
      })
    },
  }
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
 *
 * @throws Unavailable when the node does not answer, or does not show the blocks
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
  if (block === null) throw new Unavailable('rpc_unavailable', 'The node does not show a block below its own head.')
  const { number, hash, parentHash, timestamp } = block as Readonly<
    Record<'number' | 'hash' | 'parentHash' | 'timestamp', string>
  >
  return { number: Number(number), hash, parentHash, timestamp: Number(timestamp) }
}
