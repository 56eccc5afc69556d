/**
 * Compares the leaves of the log with the stored tree, and the roots with the signed checkpoints. One pass in log
 * order; memory does not grow with the log.
 */
import type { Pool } from 'pg'
import { LOG_START } from '../../event-log/subscription.ts'
import type { Row } from '../../event-log/table-rows.ts'
import type { Queryable } from '../chain/log-rows.ts'
import { EMPTY_ROOT, nodeHash } from '../merkle/hashes.ts'
import { decodeTile, TILE_WIDTH } from '../merkle/tiles.ts'
import { leafOf } from '../tree/leaf.ts'
import { createLeafComparison, type LeafDifference, type LogLeaf } from './leaf-comparison.ts'

/** Leaves in one read. */
const BATCH_SIZE = 8_192
const TILES_AT_ONCE = BATCH_SIZE / TILE_WIDTH

export type TreeFindings = {
  /** Number of events in the log. */
  readonly size: number
  readonly root: Buffer
  /** The first leaf that differs from the tree. */
  readonly difference: LeafDifference | null
  /** The root of the log's tree at each requested size that the log reaches. */
  readonly roots: ReadonlyMap<number, Buffer>
}

/** @param sizes at which the root is needed */
export async function verifyTree(database: Queryable, sizes: readonly number[]): Promise<TreeFindings> {
  const wanted = new Set(sizes)
  const roots = new Map<number, Buffer>()
  const tree = createCompactTree()
  const comparison = createLeafComparison()
  if (wanted.has(0)) roots.set(0, EMPTY_ROOT)
  for await (const { leaves, kept } of readLeaves(database as Pick<Pool, 'query'>)) {
    for (const [index, event] of leaves.entries()) {
      const leaf = leafOf(event)
      comparison.take(tree.size(), { event, leaf }, kept[index])
      tree.append(leaf)
      if (wanted.has(tree.size())) roots.set(tree.size(), tree.root())
    }
  }
  return { size: tree.size(), root: tree.root(), difference: comparison.difference(), roots }
}

/** Roots of the full subtrees of a growing tree, largest first: sufficient for its root (RFC 6962 § 2.1). */
export function createCompactTree() {
  const stack: { readonly hash: Buffer; readonly level: number }[] = []
  let size = 0
  return {
    size: () => size,
    append(leaf: Buffer) {
      let node = { hash: leaf, level: 0 }
      for (let last = stack.at(-1); last?.level === node.level; last = stack.at(-1)) {
        stack.pop()
        node = { hash: nodeHash(last.hash, node.hash), level: node.level + 1 }
      }
      stack.push(node)
      size += 1
    },
    root(): Buffer {
      const hashes = stack.map(({ hash }) => hash)
      const last = hashes.pop()
      return last === undefined ? EMPTY_ROOT : hashes.reduceRight((right, left) => nodeHash(left, right), last)
    },
  }
}

type LeafRow = [transactionId: string, position: string, streamId: string, version: string, hash: string]

/** The log's leaves in batches of whole tiles, each with the stored leaves of the same range. */
async function* readLeaves(pool: Pick<Pool, 'query'>) {
  let after = { transactionId: LOG_START.transactionId.toString(), position: LOG_START.position.toString() }
  for (let tile = 0; ; tile += TILES_AT_ONCE) {
    const { rows } = await pool.query<LeafRow>({
      name: 'audit_leaves',
      text: `SELECT transaction_id::text, position::text, stream_id, stream_version::text, encode(hash, 'hex') FROM events
              WHERE (transaction_id, position) > ($1::xid8, $2::bigint) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
              ORDER BY events.transaction_id, events.position LIMIT ${BATCH_SIZE}`,
      values: [after.transactionId, after.position],
      rowMode: 'array',
    } as never)
    const tiles = await pool.query<Pick<Row<'audit_tiles'>, 'hashes'>>({
      name: 'audit_leaf_tiles',
      text: 'SELECT hashes FROM audit_tiles WHERE level = 0 AND index >= $1 AND index < $2 ORDER BY index',
      values: [tile, tile + TILES_AT_ONCE],
    })
    const kept = tiles.rows.flatMap(({ hashes }) => decodeTile(hashes))
    const leaves = (rows as unknown as LeafRow[]).map(toLeaf)
    // Stored leaves beyond the end of the log have no counterpart: they show that its tail is missing.
    yield { leaves, kept }
    const last = (rows as unknown as LeafRow[]).at(-1)
    if (last === undefined || leaves.length < BATCH_SIZE) return
    after = { transactionId: last[0], position: last[1] }
  }
}

function toLeaf([transactionId, position, streamId, version, hash]: LeafRow): LogLeaf {
  return {
    place: { transactionId: BigInt(transactionId), position: BigInt(position) },
    streamId,
    streamVersion: Number(version),
    hash,
  }
}
