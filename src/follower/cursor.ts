/**
 * What the follower of a chain keeps beside the log. Its cursor, and the hashes of blocks, are written in the same commit as
 * the effects of the blocks.
 *
 * Since when and why it does not move although it should: readiness, `stuck` and metrics read it. A node that is quiet, or a
 * reorg during a read, is over with the next step.
 */

import type { Pool } from 'pg'
import type { Nodes } from '../chain/agreement.ts'
import type { Block, BlockHeader, BlockRef } from '../chain/blocks.ts'
import type { FollowStep, Refusal } from '../chain/follow.ts'
import { toQuantity } from '../chain/hex.ts'
import { rpcCall } from '../chain/json-rpc.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { BursarError, Unavailable } from '../core/errors.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import type { Row } from '../event-log/table-rows.ts'

/** Deeper reorgs are beyond every network's finality; the hash of block 0 is kept too. */
const KEPT_HASHES = 512

/** Older than the confirmations of any network. */
const OLD_MS = 24 * 3_600_000

export type Cursor = BlockRef

/** The processed part of the chain that is kept beside the log, for the follower to continue from. */
export type WalkedBlocks = {
  readonly cursor: (chainId: number) => Promise<Cursor | null>
  /** Hashes by number, for all kept numbers in `from … to`, both inclusive. */
  readonly hashes: (chainId: number, from: number, to: number) => Promise<ReadonlyMap<number, string>>
  /** The hash of one block; `null` when it is not kept. */
  readonly hash: (chainId: number, block: number) => Promise<string | null>
  /** The newest followed block that was final; `null` where none is known. */
  readonly final: (chainId: number) => Promise<BlockRef | null>
  /** Records that the follower runs, with or without news: readiness checks its age. `null`: the head is not known. */
  readonly heard: (chainId: number, head: number | null) => Promise<void>
  /**
   * Deletes hashes so far below the cursor that no reorg reaches them. Hashes above it, of an abandoned branch, stay
   * until the following blocks replace them: this is not fenced, and an overtaken follower must not delete what its
   * successor has processed.
   */
  readonly prune: (chainId: number, cursor: number) => Promise<void>
}

export function createWalkedBlocks(pool: Pool): WalkedBlocks {
  return {
    async cursor(chainId) {
      const { rows } = await pool.query<Pick<Row<'chain_cursors'>, 'number' | 'hash'>>({
        name: 'chain_cursor',
        text: 'SELECT number, hash FROM chain_cursors WHERE chain_id = $1',
        values: [chainId],
      })
      const [row] = rows
      return row === undefined ? null : { number: Number(row.number), hash: row.hash }
    },
    async hashes(chainId, from, to) {
      const { rows } = await pool.query<Pick<Row<'chain_blocks'>, 'number' | 'hash'>>({
        name: 'chain_hashes',
        text: 'SELECT number, hash FROM chain_blocks WHERE chain_id = $1 AND number BETWEEN $2 AND $3',
        values: [chainId, from, to],
      })
      return new Map(rows.map((row) => [Number(row.number), row.hash]))
    },
    async hash(chainId, block) {
      const { rows } = await pool.query<Pick<Row<'chain_blocks'>, 'hash'>>({
        name: 'hash_of_block',
        text: 'SELECT hash FROM chain_blocks WHERE chain_id = $1 AND number = $2',
        values: [chainId, block],
      })
      return rows[0]?.hash ?? null
    },
    async final(chainId) {
      const { rows } = await pool.query<Pick<Row<'chain_cursors'>, 'final_number' | 'final_hash'>>({
        name: 'final_block',
        text: 'SELECT final_number, final_hash FROM chain_cursors WHERE chain_id = $1',
        values: [chainId],
      })
      const [{ final_number: number, final_hash: hash } = { final_number: null, final_hash: null }] = rows
      return number === null || hash === null ? null : { number: Number(number), hash }
    },
    async heard(chainId, head) {
      await pool.query({
        name: 'touch_cursor',
        text: 'UPDATE chain_cursors SET head = coalesce($2, head), updated_at = now() WHERE chain_id = $1',
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

/** The time of the newest block that the follower of a chain has recorded, ms; `null` if it has recorded none. */
export async function readNewestBlockMs(pool: Pick<Pool, 'query'>, chainId: number): Promise<number | null> {
  const { rows } = await pool.query<Pick<Row<'chain_blocks'>, 'timestamp'>>({
    name: 'newest_block_time',
    text: 'SELECT c.timestamp FROM chain_blocks AS c WHERE c.chain_id = $1 ORDER BY c.number DESC LIMIT 1',
    values: [chainId],
  })
  const [newest] = rows
  return newest === undefined ? null : Number(newest.timestamp) * 1_000
}

/** @param places `final` is the newest final block, which a deep reorg needs an operator to go below */
export function cursorRow(
  chainId: number,
  { cursor, final, head }: { readonly cursor: BlockRef; readonly final: BlockRef | null; readonly head: number },
  now: string,
): ReadModelRow<'chain_cursors'> {
  const { number, hash } = cursor
  const ofFinal = { final_number: final?.number ?? null, final_hash: final?.hash ?? null }
  return { table: 'chain_cursors', row: { chain_id: chainId, number, hash, head, updated_at: now, ...ofFinal } }
}

export function blockRow(
  chainId: number,
  block: Pick<Block, 'number' | 'hash' | 'parentHash' | 'timestamp'>,
): ReadModelRow<'chain_blocks'> {
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
 * The start for a chain that was never followed: a little below its head, so that nothing sent from now on is missed.
 * Returns the block and block 0, whose hash detects a restarted chain. A public chain is not followed from an old block: one
 * node of two, or the only one that answers beside another, can name any as the newest, and what follows from the start is for good.
 *
 * @param now ISO 8601
 * @throws Unavailable when the node does not answer, or does not return the blocks, or the newest one is old
 */
export async function firstBlocks(
  { agreed, newest }: Pick<Nodes, 'agreed' | 'newest'>,
  { confirmations, finalizes }: Pick<ChainSettings, 'confirmations' | 'finalizes'>,
  now: string,
): Promise<(BlockHeader & { timestamp: number })[]> {
  const head = await newest('latest')
  const start = Math.max(0, head.number - confirmations)
  const blocks = await Promise.all(
    [...new Set([0, start])].map(async (number) =>
      header(await rpcCall(agreed, 'eth_getBlockByNumber', [toQuantity(number), false])),
    ),
  )
  const madeAt = 1_000 * (blocks.at(-1)?.timestamp ?? 0)
  if (finalizes !== true || Date.parse(now) - madeAt < OLD_MS) return blocks
  throw new Unavailable(
    'no_quorum',
    `The newest block that enough nodes reach is ${head.number}, and block ${start} is of ${new Date(madeAt).toISOString()}: ` +
      'following does not begin at a block of more than a day ago.',
  )
}

function header(block: unknown): BlockHeader & { timestamp: number } {
  if (block === null) throw new Unavailable('rpc_unavailable', 'The node does not return a block below its own head.')
  const { number, hash, parentHash, timestamp } = block as Readonly<
    Record<'number' | 'hash' | 'parentHash' | 'timestamp', string>
  >
  return { number: Number(number), hash, parentHash, timestamp: Number(timestamp) }
}

/** How often a stall that lasts is recorded and logged. */
const REPEAT_MS = 10_000

export type StallReport = {
  /** Call with each step after it is in the log. */
  readonly stepped: (step: FollowStep) => Promise<void>
  /** Call when following failed and is begun again. Never rejects. */
  readonly failed: (error: unknown) => Promise<void>
}

export function createStallReport(
  {
    pool,
    onStall,
    now,
  }: {
    readonly pool: Pool
    /** Called about a step that leads nowhere, when that begins and while it lasts. */
    readonly onStall: (reason: string) => void
    /** A clock, ms. */
    readonly now: () => number
  },
  chainId: number,
): StallReport {
  // What an earlier leader recorded ends with the first step.
  let recorded = true
  let recordedAt = Number.NEGATIVE_INFINITY

  async function record(reason: string, waits: boolean, refusal: Refusal | null): Promise<void> {
    await pool.query({
      name: 'record_stall',
      text: `INSERT INTO chain_stalls (chain_id, reason, waits, refusal) VALUES ($1, $2, $3, $4)
             ON CONFLICT (chain_id) DO UPDATE SET reason = excluded.reason, waits = excluded.waits, refusal = excluded.refusal`,
      values: [chainId, reason, waits, refusal],
    })
    recorded = true
  }

  return {
    async stepped(step) {
      const reason = reasonOf(step)
      if (reason === null) {
        if (recorded) await pool.query('DELETE FROM chain_stalls WHERE chain_id = $1', [chainId])
        recorded = false
        recordedAt = Number.NEGATIVE_INFINITY
      } else if (now() - recordedAt >= REPEAT_MS) {
        recordedAt = now()
        onStall(reason)
        await record(reason, step.type === 'waiting', step.type === 'refused' ? step.refusal : null)
      }
    },
    async failed(error) {
      // Without a database there is nobody to tell either.
      await record(
        error instanceof BursarError ? error.message : 'it failed: read the log of the chain follower',
        false,
        null,
      ).catch(() => undefined)
    },
  }
}

function reasonOf(step: FollowStep): string | null {
  switch (step.type) {
    case 'unlinked':
    case 'refused':
    case 'waiting':
      return step.reason
    case 'behind':
      return `the node is at block ${step.head.number}, below blocks that were followed`
    case 'idle':
    case 'advance':
    case 'reorg':
      return null
  }
}
