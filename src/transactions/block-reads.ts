/**
 * What the follower asks of recorded transactions, read from the read model: one query for each question, however many
 * blocks and transactions it is about.
 */
import type { Pool } from 'pg'
import type { BlockRef } from '../chain/blocks.ts'
import { IN_FLIGHT, unchangedFor } from './lanes.ts'

/** More than this settle with the next step of the follower. */
const MAX_SETTLED = 5_000
/** Lanes whose nonces are looked at in one round: as many calls of a node, in one batch. */
const QUIET_LANES = 200
/** Transactions of each of them: a nonce that is lost is below all that waits for it. */
const QUIET_PER_LANE = 4
/** Blocks of others' transactions that are read in one round. */
const MAX_FOREIGN = 64
/** Blocks in one page: as many headers are read in a batch. */
const BLOCKS_OF_PAGE = 64

export type SentBy = { readonly address: string; readonly nonce: number }

export type QuietTransaction = { readonly id: string; readonly address: string; readonly nonce: number }

/** A nonce that was used in a block. */
export type UsedNonce = SentBy & { readonly hash: string; readonly block: number }

/** A transaction of ours whose nonce others are recorded to have used in a block. */
export type ContestedNonce = QuietTransaction & { readonly block: number }

export type BlockReads = {
  /** Which of these addresses, in lower case, are wallets of ours: as recorded. */
  readonly ownSenders: (chainId: number, addresses: readonly string[]) => Promise<string[]>
  /** Transactions whose present nonce is one of these; `index` is the place of the sender and nonce in `sent`. */
  readonly byNonce: (chainId: number, sent: readonly SentBy[]) => Promise<{ id: string; index: number }[]>
  /** Transactions in a block above this one, in the order in which they were accepted. */
  readonly inBlocksAbove: (chainId: number, block: number) => Promise<string[]>
  /** Transactions that are mined and not settled, in this block or below, the lowest blocks first, as many as one step settles. */
  readonly minedUpTo: (chainId: number, block: number) => Promise<string[]>
  /** Blocks in which transactions are recorded, this one and below, newest first: a page of them. */
  readonly recordedBlocks: (chainId: number, upTo: number) => Promise<BlockRef[]>
  /**
   * Transactions with signed bytes that are in no block and have not changed for so long: the lowest nonces of as many lanes as one
   * round looks at. The next call goes on behind the lane that this one ended with.
   */
  readonly quiet: (chainId: number, unchangedMs: number) => Promise<QuietTransaction[]>
  /** Of these, what no bytes of ours did. */
  readonly notOurs: <Used extends UsedNonce>(chainId: number, used: readonly Used[]) => Promise<Used[]>
  /**
   * Transactions that are in no block and whose nonce others are recorded to have used in this block or below, by id and
   * block, after a place in that order: as many as one round looks at, fewer only at the end.
   */
  readonly contested: (
    chainId: number,
    upTo: number,
    after: Pick<ContestedNonce, 'id' | 'block'>,
  ) => Promise<ContestedNonce[]>
}

export function createBlockReads(pool: Pool): BlockReads {
  /** The lane that the last round over quiet ones ended with, by chain. */
  const quietUpTo = new Map<number, string>()

  async function idsOf(name: string, text: string, values: unknown[]): Promise<string[]> {
    const { rows } = await pool.query<{ transaction_id: string }>({ name, text, values })
    return rows.map((row) => row.transaction_id)
  }
  return {
    async ownSenders(chainId, addresses) {
      const { rows } = await pool.query<{ address: string }>({
        name: 'own_senders',
        text: 'SELECT DISTINCT address FROM wallets WHERE chain_id = $1 AND lower(address) = ANY ($2::text[])',
        values: [chainId, addresses],
      })
      return rows.map(({ address }) => address)
    },
    async byNonce(chainId, sent) {
      // LATERAL with OFFSET: one index look-up for each, whatever the statistics of a fast growing table say.
      const { rows } = await pool.query<{ transaction_id: string; n: string }>({
        name: 'transactions_in_blocks',
        text: `SELECT t.transaction_id, sent.n FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS sent(address, nonce, n)
                CROSS JOIN LATERAL (SELECT transaction_id FROM transactions
                  WHERE chain_id = $1 AND from_address = sent.address AND nonce = sent.nonce OFFSET 0) AS t`,
        values: [chainId, sent.map(({ address }) => address), sent.map(({ nonce }) => nonce)],
      })
      return rows.map(({ transaction_id, n }) => ({ id: transaction_id, index: Number(n) - 1 }))
    },
    inBlocksAbove: (chainId, block) =>
      idsOf(
        'transactions_above',
        'SELECT transaction_id FROM transactions WHERE chain_id = $1 AND block_number > $2 ORDER BY transaction_id',
        [chainId, block],
      ),
    minedUpTo: (chainId, block) =>
      idsOf(
        'transactions_deep_enough',
        `SELECT transaction_id FROM transactions WHERE chain_id = $1 AND state = 'mined' AND block_number <= $2
          ORDER BY block_number LIMIT ${MAX_SETTLED}`,
        [chainId, block],
      ),
    async recordedBlocks(chainId, upTo) {
      const { rows } = await pool.query<{ block_number: string; block_hash: string }>({
        name: 'recorded_blocks',
        text: `SELECT DISTINCT block_number, block_hash FROM transactions WHERE chain_id = $1 AND block_number <= $2
                ORDER BY block_number DESC LIMIT ${BLOCKS_OF_PAGE}`,
        values: [chainId, upTo],
      })
      return rows.map((row) => ({ number: Number(row.block_number), hash: row.block_hash }))
    },
    async notOurs(chainId, used) {
      const { rows } = await pool.query<{ n: string }>({
        name: 'nonces_not_ours',
        text: `SELECT used.n FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS used(address, nonce, hash, n)
                WHERE NOT EXISTS (SELECT FROM transactions t WHERE t.chain_id = $1 AND t.from_address = used.address
                  AND t.nonce = used.nonce AND t.hashes::jsonb ? used.hash OFFSET 0)`,
        values: [
          chainId,
          used.map(({ address }) => address),
          used.map(({ nonce }) => nonce),
          used.map(({ hash }) => hash),
        ],
      })
      return rows.flatMap(({ n }) => used[Number(n) - 1] ?? [])
    },
    async contested(chainId, upTo, after) {
      const { rows } = await pool.query<{ transaction_id: string; address: string; nonce: string; block: string }>({
        name: 'contested_nonces',
        text: `SELECT t.transaction_id, f.address, f.nonce, f.block_number AS block FROM transactions t
                 JOIN foreign_nonces f ON f.chain_id = t.chain_id AND f.address = t.from_address AND f.nonce = t.nonce
                WHERE t.chain_id = $1 AND t.state IN ${IN_FLIGHT} AND f.block_number <= $2
                  AND (t.transaction_id, f.block_number) > ($3, $4::bigint)
                ORDER BY t.transaction_id, f.block_number LIMIT ${MAX_FOREIGN}`,
        values: [chainId, upTo, after.id, after.block],
      })
      return rows.map((row) => ({
        id: row.transaction_id,
        address: row.address,
        nonce: Number(row.nonce),
        block: Number(row.block),
      }))
    },
    async quiet(chainId, unchangedMs) {
      const quiet = `chain_id = $1 AND state IN ${IN_FLIGHT} AND ${unchangedFor('$2')}`
      const { rows } = await pool.query<{ transaction_id: string; from_address: string; nonce: string; turn: string }>({
        name: 'quiet_transactions',
        text: `SELECT t.transaction_id, lanes.from_address, t.nonce, lanes.turn
                 FROM (SELECT from_address, row_number() OVER (ORDER BY from_address <= $3, from_address) AS turn
                         FROM (SELECT DISTINCT from_address FROM transactions WHERE ${quiet}) AS found
                        ORDER BY turn LIMIT ${QUIET_LANES}) AS lanes
                CROSS JOIN LATERAL (SELECT transaction_id, nonce, row_number() OVER (ORDER BY nonce) AS n FROM transactions
                                     WHERE from_address = lanes.from_address AND ${quiet} ORDER BY nonce LIMIT ${QUIET_PER_LANE}) AS t
                ORDER BY t.n, lanes.turn`,
        values: [chainId, unchangedMs, quietUpTo.get(chainId) ?? ''],
      })
      const last = rows.find(({ turn }) => Number(turn) === QUIET_LANES)
      quietUpTo.set(chainId, last?.from_address ?? '')
      return rows.map((row) => ({ id: row.transaction_id, address: row.from_address, nonce: Number(row.nonce) }))
    },
  }
}
