/**
 * Transactions sent by wallet addresses that the log did not know when their blocks were processed: from another
 * program with the same key, or missing because the database was restored to an earlier state.
 *
 * Invariant: whatever a restored database is missing was sent after its newest event, so it is in blocks above its
 * cursor. All of them are processed again, and no transaction is missing here once the follower is past it.
 */
import type { Pool } from 'pg'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import { DATABASE_EPOCH } from '../event-log/database-epoch.ts'
import type { Row } from '../event-log/table-rows.ts'
import { contentOf } from './content.ts'
import type { Lane } from './lanes.ts'
import { IN_FLIGHT } from './sql.ts'
import type { UsedNonce } from './used-nonces.ts'

/**
 * Clock difference of chains and databases: a transaction mined longer than this before a request was accepted does not
 * fulfil it.
 */
const CLOCK_SLACK_MS = 600_000

export type Outside = { readonly nonce: number; readonly hash: string; readonly content: string }

/** What the log and the follower know about a lane. */
export type LaneKnowledge = {
  /** The nonce after the highest assigned one. */
  readonly next: number
  /** The newest processed block; `null` for a chain that was never followed. */
  readonly cursor: number | null
  /** Changes with a restart of the server and with a restore: earlier comparisons are then void. */
  readonly epoch: string
  readonly hasOutside: boolean
}

export type OutsideReads = {
  readonly knowledge: (lane: Lane) => Promise<LaneKnowledge>
  /**
   * Transactions not recorded as the log's own that do one of these things and were mined after the first of these
   * requests was accepted. `isTaken` when the log has assigned the nonce to another transaction.
   */
  readonly alike: (
    lane: Lane,
    contents: readonly string[],
    since: string,
  ) => Promise<(Outside & { readonly isTaken: boolean })[]>
  /** Transactions that are in no block and whose nonce was used by bytes that the log does not have. */
  readonly overtaken: (lane: Lane) => Promise<(Outside & { readonly id: string })[]>
}

export function outsideRow(
  chainId: number,
  address: string,
  { nonce, hash, content }: Outside,
  block: { readonly number: number; readonly timestamp: number },
): ReadModelRow<'outside_transactions'> {
  const block_time = new Date(block.timestamp * 1_000).toISOString()
  const row = { chain_id: chainId, address, nonce, hash, content, block_number: block.number, block_time }
  return { table: 'outside_transactions', row }
}

/** Rows for transactions that wallet addresses sent and the log does not know. */
export function outsideRows(chainId: number, used: readonly UsedNonce[]): ReadModelRow<'outside_transactions'>[] {
  return used.flatMap(({ kind, address, signs, ownId, block, transaction }) => {
    if (kind !== 'sent' || !signs || ownId !== null) return []
    const { nonce, hash, to, value, input } = transaction
    return [outsideRow(chainId, address, { nonce, hash, content: contentOf({ to, value, data: input }) }, block)]
  })
}

export function createOutsideReads(pool: Pool): OutsideReads {
  return {
    async knowledge({ chainId, address }) {
      const { rows } = await pool.query<{
        highest: Row<'transactions'>['nonce']
        cursor: Row<'chain_cursors'>['number'] | null
        epoch: string
        outside: boolean
      }>({
        name: 'lane_knowledge',
        text: `SELECT (SELECT max(nonce) FROM transactions WHERE chain_id = $1 AND from_address = $2) AS highest,
                      (SELECT number FROM chain_cursors WHERE chain_id = $1) AS cursor,
                      ${DATABASE_EPOCH} AS epoch,
                      EXISTS (SELECT FROM outside_transactions WHERE chain_id = $1 AND address = $2) AS outside`,
        values: [chainId, address],
      })
      const [row] = rows
      return {
        next: Number(row?.highest ?? -1) + 1,
        cursor: row?.cursor == null ? null : Number(row.cursor),
        epoch: row?.epoch ?? '',
        hasOutside: row?.outside === true,
      }
    },
    async alike({ chainId, address }, contents, since) {
      const { rows } = await pool.query<
        Pick<Row<'outside_transactions'>, 'nonce' | 'hash' | 'content'> & { taken: boolean }
      >({
        name: 'outside_alike',
        text: `SELECT o.nonce, o.hash, o.content, t.transaction_id IS NOT NULL AS taken FROM outside_transactions o
                 LEFT JOIN transactions t ON t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce
                WHERE o.chain_id = $1 AND o.address = $2 AND o.content = ANY ($3::text[]) AND o.block_time >= $4
                  AND NOT EXISTS (SELECT FROM transactions h WHERE h.chain_id = o.chain_id AND h.from_address = o.address
                                     AND h.hashes::jsonb ? o.hash)
                ORDER BY o.nonce`,
        values: [chainId, address, contents, new Date(Date.parse(since) - CLOCK_SLACK_MS)],
      })
      return rows.map(({ nonce, taken, ...row }) => ({ ...row, nonce: Number(nonce), isTaken: taken }))
    },
    async overtaken({ chainId, address }) {
      const { rows } = await pool.query<
        Pick<Row<'transactions'>, 'transaction_id'> & Pick<Row<'outside_transactions'>, 'nonce' | 'hash' | 'content'>
      >({
        name: 'outside_overtaken',
        text: `SELECT t.transaction_id, o.nonce, o.hash, o.content FROM outside_transactions o
                 JOIN transactions t ON t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce
                WHERE o.chain_id = $1 AND o.address = $2 AND t.state IN ${IN_FLIGHT} AND NOT t.hashes::jsonb ? o.hash
                ORDER BY o.nonce`,
        values: [chainId, address],
      })
      return rows.map(({ transaction_id: id, nonce, ...row }) => ({ ...row, id, nonce: Number(nonce) }))
    },
  }
}
