/**
 * What the follower reads of recorded transactions, from the read model: one query each, for any number of blocks and
 * transactions. And the nonces of wallets that processed blocks use, with those of them that our own bytes used: read once
 * for each step. Those of foreign transactions are recorded with the blocks. Once such a block is final, the block itself is
 * the proof, and every node keeps it; most nodes drop the account state of that block within minutes.
 *
 * Invariant: a row says where to look, not what is true: code that acts on it reads the block.
 */

import type { Pool } from 'pg'
import type { Block, BlockRef, BlockTransaction } from '../chain/blocks.ts'
import type { ReadModelRow } from '../event-log/aggregate.ts'
import type { Row } from '../event-log/table-rows.ts'
import { authorityOf } from '../keys/authority-of.ts'
import { WALLETS } from '../wallets/sql.ts'
import { isForChain } from './find-consumer.ts'
import { isInBlock, isInFlight, unchangedFor } from './sql.ts'

/** Further ones settle with the next step of the follower. */
const MAX_SETTLED = 5_000
/** Lanes whose nonces are checked in one round: as many calls of a node, in one batch. */
const QUIET_LANES = 200
/** Transactions per lane: a lost nonce is below all that wait for it. */
const QUIET_PER_LANE = 4
/** Blocks with foreign transactions that are read in one round. */
const MAX_FOREIGN = 64
/** Blocks per page: as many headers are read in a batch. */
const BLOCKS_OF_PAGE = 64

export type SentBy = { readonly address: string; readonly nonce: number }

/** The sender, nonce and hash of a transaction in a block. */
type SentBytes = SentBy & { readonly hash: string }

/** `index`: the index in the list of bytes. */
export type SentTransaction = { readonly id: string; readonly assetId: string; readonly index: number }

export type QuietTransaction = { readonly id: string; readonly address: string; readonly nonce: number }

/** A wallet address as recorded, and whether the service sends from it: false when it is only watched. */
export type OwnSender = { readonly address: string; readonly signs: boolean }

/** A transaction whose nonce is recorded as used in a block by a foreign transaction. */
export type ContestedNonce = QuietTransaction & { readonly block: number }

export type BlockReads = {
  /** Which of these addresses, in lower case, are wallets. */
  readonly ownSenders: (chainId: number, addresses: readonly string[]) => Promise<OwnSender[]>
  /** Transactions that these bytes belong to, in any version, with the assets that they send. */
  readonly byNonce: (chainId: number, sent: readonly SentBytes[]) => Promise<SentTransaction[]>
  /** Transactions in a block above this one, in order of acceptance. */
  readonly inBlocksAbove: (chainId: number, block: number) => Promise<string[]>
  /**
   * Unsettled transactions in this block or below, lowest blocks first, at most as many as one step settles.
   */
  readonly minedUpTo: (chainId: number, block: number) => Promise<string[]>
  /** Blocks with recorded transactions, this one and below, newest first; one page. */
  readonly recordedBlocks: (chainId: number, upTo: number) => Promise<BlockRef[]>
  /**
   * Transactions with signed bytes that are in no block and have not changed for this long: the lowest nonces of as
   * many lanes as one round checks. The next call continues after the last lane of this one.
   */
  readonly quiet: (chainId: number, unchangedMs: number) => Promise<QuietTransaction[]>
  /**
   * Transactions that are in no block and whose nonce is recorded as used by a foreign transaction in this block or
   * below; by id and block, after a place in that order, as many as one round checks, fewer only at the end.
   */
  readonly contested: (
    chainId: number,
    upTo: number,
    after: Pick<ContestedNonce, 'id' | 'block'>,
  ) => Promise<ContestedNonce[]>
}

type RecordedBlock = Pick<
  Row<'transactions', { readonly block_number: string; readonly block_hash: string }>,
  'block_number' | 'block_hash'
>
type Contested = Pick<Row<'transactions'>, 'transaction_id'> &
  Pick<Row<'foreign_nonces'>, 'address' | 'nonce'> & { readonly block: Row<'foreign_nonces'>['block_number'] }

export function createBlockReads(pool: Pool): BlockReads {
  /** The last lane of the previous round over quiet ones, by chain. */
  const quietUpTo = new Map<number, string>()

  async function idsOf(name: string, text: string, values: unknown[]): Promise<string[]> {
    const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>({ name, text, values })
    return rows.map((row) => row.transaction_id)
  }
  return {
    async ownSenders(chainId, addresses) {
      const { rows } = await pool.query<OwnSender>({
        name: 'own_senders',
        text: `SELECT address, bool_or(type <> 'watch') AS signs FROM ${WALLETS} AS wallets
                WHERE chain_id = $1 AND lower(address) = ANY ($2::text[]) GROUP BY address`,
        values: [chainId, addresses],
      })
      return rows
    },
    async byNonce(chainId, sent) {
      // LATERAL with OFFSET: one index lookup for each, whatever the statistics of a fast growing table say.
      const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id' | 'asset_id'> & { n: string }>({
        name: 'transactions_in_blocks',
        text: `SELECT t.transaction_id, t.asset_id, sent.n
                 FROM unnest($2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS sent(address, nonce, hash, n)
                CROSS JOIN LATERAL (SELECT transaction_id, asset_id, hashes FROM transactions
                  WHERE chain_id = $1 AND from_address = sent.address AND nonce = sent.nonce OFFSET 0) AS t
                WHERE t.hashes::jsonb ? sent.hash`,
        values: [
          chainId,
          sent.map(({ address }) => address),
          sent.map(({ nonce }) => nonce),
          sent.map(({ hash }) => hash),
        ],
      })
      return rows.map(({ transaction_id, asset_id, n }) => ({
        id: transaction_id,
        assetId: asset_id,
        index: Number(n) - 1,
      }))
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
        `SELECT transaction_id FROM transactions WHERE chain_id = $1 AND ${isInBlock('transactions')} AND block_number <= $2
          ORDER BY block_number LIMIT ${MAX_SETTLED}`,
        [chainId, block],
      ),
    async recordedBlocks(chainId, upTo) {
      const { rows } = await pool.query<RecordedBlock>({
        name: 'recorded_blocks',
        text: `SELECT DISTINCT block_number, block_hash FROM transactions WHERE chain_id = $1 AND block_number <= $2
                ORDER BY block_number DESC LIMIT ${BLOCKS_OF_PAGE}`,
        values: [chainId, upTo],
      })
      return rows.map((row) => ({ number: Number(row.block_number), hash: row.block_hash }))
    },
    async contested(chainId, upTo, after) {
      const { rows } = await pool.query<Contested>({
        name: 'contested_nonces',
        text: `SELECT t.transaction_id, f.address, f.nonce, f.block_number AS block FROM transactions t
                 JOIN foreign_nonces f ON f.chain_id = t.chain_id AND f.address = t.from_address AND f.nonce = t.nonce
                WHERE t.chain_id = $1 AND ${isInFlight('t')} AND f.block_number <= $2
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
      const quiet = `chain_id = $1 AND ${isInFlight('transactions')} AND ${unchangedFor('$2')}`
      const { rows } = await pool.query<
        Pick<Row<'transactions'>, 'transaction_id' | 'from_address' | 'nonce'> & { turn: string }
      >({
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

/** Whether a chain has transactions with signed bytes that are in no block: only their nonces can be lost. */
export async function hasInFlight(pool: Pool, chainId: number): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>({
    name: 'some_in_flight',
    text: `SELECT EXISTS (SELECT FROM transactions WHERE chain_id = $1 AND ${isInFlight('transactions')}) AS some`,
    values: [chainId],
  })
  return rows[0]?.some === true
}

/** Each costs half a millisecond. Further ones are found by binary search, as long as a node has the states for it. */
const MAX_AUTHORIZATIONS = 512

/** A nonce used in a block by the sender of a transaction, or by an account that signed an authorization (EIP-7702). */
type Use = {
  readonly kind: 'sent' | 'authorized'
  /** In lower case. */
  readonly from: string
  readonly nonce: number
  readonly block: Block
  readonly transaction: BlockTransaction
}

/** The same, for a wallet. */
export type UsedNonce = Use & {
  /** As recorded. */
  readonly address: string
  /** Whether the service sends from the address: false when it is only watched. */
  readonly signs: boolean
  /** Our transaction whose bytes used it; `null` for a foreign transaction. */
  readonly ownId: string | null
  /** The asset that it sends. */
  readonly ownAssetId: string | null
}

/**
 * The nonces that these blocks use, in order. Two queries for any number of transactions; one if none of them belongs
 * to a wallet.
 */
export async function readUsedNonces(
  reads: Pick<BlockReads, 'ownSenders' | 'byNonce'>,
  chainId: number,
  blocks: readonly Block[],
): Promise<UsedNonce[]> {
  const uses = usesIn(blocks, chainId)
  if (uses.length === 0) return []
  const wallets = await reads.ownSenders(chainId, [...new Set(uses.map(({ from }) => from))])
  if (wallets.length === 0) return []
  const recorded = new Map(wallets.map((wallet) => [wallet.address.toLowerCase(), wallet]))
  const ofWallets = uses.flatMap((use) => {
    const wallet = recorded.get(use.from)
    return wallet === undefined ? [] : [{ ...use, ...wallet }]
  })
  const found = await reads.byNonce(
    chainId,
    ofWallets.map(({ address, nonce, transaction: { hash } }) => ({ address, nonce, hash })),
  )
  const own = new Map(found.map((one) => [one.index, one]))
  return ofWallets.map((use, index) => {
    const one = own.get(index)
    return { ...use, ownId: one?.id ?? null, ownAssetId: one?.assetId ?? null }
  })
}

/** Each nonce once per block: an account that signs several authorizations of one nonce uses it once. */
function usesIn(blocks: readonly Block[], chainId: number): Use[] {
  let authorizations = 0
  const uses = new Map<string, Use>()
  for (const block of blocks)
    for (const transaction of block.transactions) {
      const { from, nonce } = transaction
      uses.set(`${block.number} ${from} ${nonce}`, { kind: 'sent', from, nonce, block, transaction })
      const room = Math.max(0, MAX_AUTHORIZATIONS - authorizations)
      authorizations += transaction.authorizations.length
      for (const one of authorizedBy(transaction, chainId, room)) {
        const name = `${block.number} ${one.from} ${one.nonce}`
        if (!uses.has(name)) uses.set(name, { kind: 'authorized', ...one, block, transaction })
      }
    }
  return [...uses.values()]
}

function authorizedBy({ authorizations }: BlockTransaction, chainId: number, room: number) {
  return authorizations.slice(0, room).flatMap((item): { from: string; nonce: number }[] => {
    if (!isForChain(item, chainId) || item.nonce > BigInt(Number.MAX_SAFE_INTEGER)) return []
    const from = authorityOf(item)
    return from === null ? [] : [{ from, nonce: Number(item.nonce) }]
  })
}

/** Blocks for which rows without a waiting transaction are kept, in case a lagging node leads to a late signature. */
const KEPT_BLOCKS = 100_000

/** Rows for the nonces that foreign transactions used. */
export function foreignNonceRows(chainId: number, used: readonly UsedNonce[]): ReadModelRow<'foreign_nonces'>[] {
  return used.flatMap(({ address, nonce, block, ownId }) => {
    const row = { chain_id: chainId, address, nonce, block_number: block.number }
    return ownId === null ? [{ table: 'foreign_nonces', row }] : []
  })
}

/** Deletes rows far below the cursor that concern no open transaction. */
export async function pruneForeignNonces(pool: Pool, chainId: number, cursor: number): Promise<void> {
  await pool.query({
    name: 'prune_foreign_nonces',
    text: `DELETE FROM foreign_nonces f WHERE chain_id = $1 AND block_number < $2 AND NOT EXISTS (SELECT FROM transactions t
            WHERE t.chain_id = f.chain_id AND t.from_address = f.address AND t.nonce = f.nonce AND t.block_number IS NULL)`,
    values: [chainId, cursor - KEPT_BLOCKS],
  })
}
