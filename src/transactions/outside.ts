/**
 * Transactions sent by wallet addresses that the log did not know when their blocks were processed: from another
 * program with the same key, or missing because the database was restored to an earlier state.
 *
 * Invariant: whatever a restored database is missing was sent after its newest event, so it is in blocks above its
 * cursor. All of them are processed again, and no transaction is missing here once the follower is past it.
 *
 * And which of them are signatures of requests that the log has forgotten: those with the tag of a request. What has no tag
 * and does the same is another program's, unless older versions may have signed it.
 *
 * Invariant: neither a time nor the start of a server decides. What cannot be told apart is held for an operator.
 */

import type { Pool } from 'pg'
import type { BlockRef, BlockTransaction } from '../chain/blocks.ts'
import { gathering } from '../core/gathering.ts'
import type { Loaded, ReadModelRow } from '../event-log/aggregate.ts'
import { DATABASE_EPOCH } from '../event-log/database-epoch.ts'
import { isConnectionFailure } from '../event-log/database-errors.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { UsedNonce } from './block-reads.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { contentOf, purposeOf } from './content.ts'
import type { LookalikeCause } from './held-cause.ts'
import type { Lane } from './lanes.ts'
import type { ShownTransaction } from './read-signed.ts'
import { IN_FLIGHT } from './sql.ts'
import type { KnownTransaction, TransactionState } from './state.ts'
import { readTag, type TagKeys, type TagPurpose, tagsOf } from './tags.ts'

/** `tag`: what its fees say of who signed it; `null` for another type, or recorded by an older version. */
export type Outside = {
  readonly nonce: number
  readonly hash: string
  readonly content: string
  readonly tag: number | null
}

/** `isTaken`: the log has given its nonce to another transaction. */
export type LooseOutside = Outside & { readonly isTaken: boolean }

/** With what a node returns of it, as `readSigned` proves it. What is proven replaces what the row says. */
export type Proven<Row extends Outside = Outside> = Row & { readonly bytes: ShownTransaction | 'foreign' | null }

/** What the log and the follower know about a lane. */
export type LaneKnowledge = {
  /** The nonce after the highest assigned one. */
  readonly next: number
  /** The newest processed block; `null` for a chain that was never followed. */
  readonly cursor: BlockRef | null
  /** Changes with a restart of the server and with a restore: earlier comparisons are then void. */
  readonly epoch: string
  /** The nonce after the highest one that the follower saw used by transactions missing in the log; 0 for none. */
  readonly outside: number
  /** The same with what was used by authorizations (EIP-7702), of blocks that are kept. */
  readonly taken: number
}

export type LooseWanted = { readonly tags: readonly number[]; readonly contents: readonly string[] }
export type SeenLoose = { readonly known: LaneKnowledge; readonly loose: readonly LooseOutside[] }

export type OutsideReads = {
  readonly knowledge: (lane: Lane) => Promise<LaneKnowledge>
  /** How many of the nonces from `from` on, below `to`, the log has assigned. */
  readonly assigned: (lane: Lane, from: number, to: number) => Promise<number>
  /**
   * Transactions not recorded as the log's own that have one of these tags, or do one of these things, by nonce; and what
   * was known at the same moment: a reorg between two reads would hide transactions from the second.
   */
  readonly loose: (lane: Lane, wanted: LooseWanted) => Promise<SeenLoose>
  /** Transactions that are in no block and whose nonce was used by bytes that the log does not have. */
  readonly overtaken: (lane: Lane) => Promise<(Outside & { readonly id: string })[]>
}

export function outsideRow(
  chainId: number,
  address: string,
  { nonce, hash, content, tag }: Outside,
  block: { readonly number: number; readonly timestamp: number },
): ReadModelRow<'outside_transactions'> {
  const block_time = new Date(block.timestamp * 1_000).toISOString()
  const row = { chain_id: chainId, address, nonce, hash, content, block_number: block.number, block_time, tag }
  return { table: 'outside_transactions', row }
}

/** What a transaction in a block says of itself. */
export function outsideOf(
  transaction: Pick<BlockTransaction, 'nonce' | 'hash' | 'to' | 'value' | 'input' | 'offer'>,
): Outside {
  const { nonce, hash, to, value, input, offer } = transaction
  return { nonce, hash, content: contentOf({ to, value, data: input }), tag: offer === null ? null : readTag(offer) }
}

/** Rows for transactions that wallet addresses sent and the log does not know. */
export function outsideRows(chainId: number, used: readonly UsedNonce[]): ReadModelRow<'outside_transactions'>[] {
  return used.flatMap(({ kind, address, signs, ownId, block, transaction }) => {
    if (kind !== 'sent' || !signs || ownId !== null) return []
    return [outsideRow(chainId, address, outsideOf(transaction), block)]
  })
}

type OutsideColumns = Pick<Row<'outside_transactions'>, 'nonce' | 'hash' | 'content' | 'tag'>

function readOutside({ nonce, hash, content, tag }: OutsideColumns): Outside {
  return { nonce: Number(nonce), hash, content, tag: tag === null ? null : Number(tag) }
}

/** One row. */
const knowledgeOf = (chain: string, sender: string) => `
  SELECT (SELECT max(nonce) FROM transactions WHERE chain_id = ${chain} AND from_address = ${sender}) AS highest,
         c.number AS cursor, c.hash AS cursor_hash, ${DATABASE_EPOCH} AS epoch,
         (SELECT max(nonce) FROM outside_transactions WHERE chain_id = ${chain} AND address = ${sender}) AS outside,
         (SELECT max(nonce) FROM foreign_nonces WHERE chain_id = ${chain} AND address = ${sender}) AS taken
    FROM (SELECT) AS one LEFT JOIN chain_cursors c ON c.chain_id = ${chain}`

type KnowledgeColumns = {
  readonly highest: Row<'transactions'>['nonce']
  readonly cursor: Row<'chain_cursors'>['number'] | null
  readonly cursor_hash: Row<'chain_cursors'>['hash'] | null
  readonly epoch: string
  readonly outside: Row<'outside_transactions'>['nonce'] | null
  readonly taken: Row<'foreign_nonces'>['nonce'] | null
}

function readKnowledge(row: KnowledgeColumns | undefined): LaneKnowledge {
  return {
    next: Number(row?.highest ?? -1) + 1,
    cursor: row?.cursor == null ? null : { number: Number(row.cursor), hash: row.cursor_hash ?? '' },
    epoch: row?.epoch ?? '',
    outside: Number(row?.outside ?? -1) + 1,
    taken: Number(row?.taken ?? -1) + 1,
  }
}

/**
 * Bytes have one nonce. The log's own are in the row that has it now; or, if it lost that nonce, in a row with a later one, or
 * with none. Each is found by an index.
 */
const LOOSE = `
  WITH found AS MATERIALIZED (
         SELECT o.nonce, o.hash, o.content, o.tag, t.transaction_id IS NOT NULL AS is_taken FROM outside_transactions o
           LEFT JOIN LATERAL (SELECT transaction_id, hashes FROM transactions t
             WHERE t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce OFFSET 0) AS t ON true
          WHERE o.chain_id = $1 AND o.address = $2 AND (o.tag = ANY ($3::bigint[]) OR o.content = ANY ($4::text[]))
            AND (t.hashes IS NULL OR NOT t.hashes::jsonb ? o.hash)),
       moved AS MATERIALIZED (
         SELECT jsonb_array_elements_text(h.hashes) AS hash FROM transactions h
          WHERE h.chain_id = $1 AND h.from_address = $2 AND h.nonce > (SELECT min(nonce) FROM found)
          UNION ALL
         SELECT jsonb_array_elements_text(h.hashes) FROM transactions h
          WHERE h.chain_id = $1 AND h.from_address = $2 AND h.nonce IS NULL AND jsonb_array_length(h.hashes) > 0)
  SELECT known.*, loose.* FROM (${knowledgeOf('$1', '$2')}) AS known
    LEFT JOIN (SELECT * FROM found WHERE NOT EXISTS (SELECT FROM moved WHERE moved.hash = found.hash)) AS loose ON true
   ORDER BY loose.nonce`

export function createOutsideReads(pool: Pool): OutsideReads {
  const know = gathering(
    async (lanes: readonly Lane[]) => {
      const { rows } = await pool.query<KnowledgeColumns>({
        name: 'lane_knowledge',
        text: `SELECT known.* FROM unnest($1::integer[], $2::text[]) WITH ORDINALITY AS lane(chain_id, address, n)
                CROSS JOIN LATERAL (${knowledgeOf('lane.chain_id', 'lane.address')} OFFSET 0) AS known ORDER BY lane.n`,
        values: [lanes.map(({ chainId }) => chainId), lanes.map(({ address }) => address)],
      })
      return rows
    },
    { isShared: isConnectionFailure },
  )
  return {
    knowledge: async (lane) => readKnowledge((await know([lane]))[0]),
    async loose({ chainId, address }, { tags, contents }) {
      const { rows } = await pool.query<KnowledgeColumns & (OutsideColumns | { hash: null }) & { is_taken: boolean }>({
        name: 'loose_outside',
        text: LOOSE,
        values: [chainId, address, tags, contents],
      })
      const loose = rows.flatMap((row) => (row.hash === null ? [] : [{ ...readOutside(row), isTaken: row.is_taken }]))
      return { known: readKnowledge(rows[0]), loose }
    },
    async assigned({ chainId, address }, from, to) {
      const { rows } = await pool.query<{ n: string }>({
        name: 'lane_nonces_assigned',
        text: `SELECT count(*) AS n FROM transactions WHERE chain_id = $1 AND from_address = $2 AND nonce >= $3 AND nonce < $4`,
        values: [chainId, address, from, to],
      })
      return Number(rows[0]?.n ?? 0)
    },
    async overtaken({ chainId, address }) {
      const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'> & OutsideColumns>({
        name: 'outside_overtaken',
        text: `SELECT t.transaction_id, o.nonce, o.hash, o.content, o.tag FROM outside_transactions o
                 JOIN transactions t ON t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce
                WHERE o.chain_id = $1 AND o.address = $2 AND t.state IN ${IN_FLIGHT} AND NOT t.hashes::jsonb ? o.hash
                ORDER BY o.nonce`,
        values: [chainId, address],
      })
      return rows.map((row) => ({ ...readOutside(row), id: row.transaction_id }))
    },
  }
}

export type Known = { readonly loaded: Loaded<TransactionState>; readonly transaction: KnownTransaction }

/** `own`: signed for it. `foreign`: by another program. `unclear`: it waits. */
export type Recognised =
  | {
      readonly is: 'own'
      readonly known: Known
      readonly bytes: ShownTransaction
      readonly purpose: 'bump' | 'cancel' | null
    }
  | { readonly is: 'foreign'; readonly known: Known; readonly outside: Outside }
  | { readonly is: 'unclear'; readonly known: Known; readonly outside: Outside; readonly why: LookalikeCause['kind'] }

export type RecogniseSettings = {
  readonly keys: TagKeys
  /** Whether forgotten signatures may have been made by a version that did not tag. */
  readonly untagged: boolean
}

/** Bytes that used the nonce of a signed transaction and are none of its recorded versions. */
export function recogniseNewer({ keys, untagged }: RecogniseSettings, known: Known, outside: Proven): Recognised[] {
  const { transaction } = known
  const { bytes } = outside
  // What no node shows decides nothing: the follower waits for the decision.
  if (transaction.rejected.includes(outside.hash) || bytes === null) return []
  if (purposeOf(transaction, outside.content) === null) return [] // The follower proves that the nonce is lost.
  if (bytes !== 'foreign') {
    if (outside.content === callOf(known) && hasTag(keys, known, 'send', outside))
      return [{ is: 'own', known, bytes, purpose: 'bump' }]
    if (outside.content === cancellationOf(known) && hasTag(keys, known, 'cancel', outside))
      return [{ is: 'own', known, bytes, purpose: 'cancel' }]
    if (untagged) return [{ is: 'unclear', known, outside, why: 'no_tag' }]
  }
  return [{ is: 'foreign', known, outside }]
}

/**
 * Bytes for requests that wait for their first signature.
 *
 * @param outsides those with the tag of one of the requests, or with its effect
 */
export function recogniseFirst(
  settings: RecogniseSettings,
  requests: readonly Known[],
  outsides: readonly Proven<LooseOutside>[],
): Recognised[] {
  return requests
    .filter(({ transaction }) => transaction.state === 'requested')
    .flatMap((known) => outsides.flatMap((outside) => first(settings, known, outside) ?? []))
}

/**
 * Of bytes without a tag all equal requests wait: one that was forgotten and repeated with its idempotency key may have
 * been signed by an older version too.
 */
function first({ keys, untagged }: RecogniseSettings, known: Known, outside: Proven<LooseOutside>): Recognised | null {
  const { rejected, abandoned } = known.transaction
  const { bytes, hash, nonce, isTaken } = outside
  if (rejected.includes(hash) || bytes === 'foreign') return null
  const isTagged = hasTag(keys, known, 'send', outside)
  const isSame = outside.content === callOf(known)
  if (bytes === null) return isTagged || isSame ? { is: 'unclear', known, outside, why: 'not_shown' } : null
  if (!isTagged) return isSame && untagged ? { is: 'unclear', known, outside, why: 'no_tag' } : null
  if (isSame)
    return isTaken ? { is: 'unclear', known, outside, why: 'nonce_taken' } : { is: 'own', known, bytes, purpose: null }
  // The log names what used a nonce that the request lost: it is known not to be this request.
  return abandoned.some((attempt) => attempt.nonce === nonce)
    ? null
    : { is: 'unclear', known, outside, why: 'other_call' }
}

/** The tags under which a request is looked for. */
export function tagsToFind(keys: TagKeys, { loaded, transaction }: Known): readonly number[] {
  return tagsOf(keys, { id: loaded.id, transaction }, 'send')
}

function hasTag(keys: TagKeys, { loaded, transaction }: Known, purpose: TagPurpose, { tag }: Outside): boolean {
  return tag !== null && tagsOf(keys, { id: loaded.id, transaction }, purpose).includes(tag)
}

/** The digest of what it does. */
export function callOf({ transaction }: Known): string {
  return contentOf(buildCall(transaction.intent))
}

function cancellationOf({ transaction }: Known): string {
  return contentOf(buildCancellation(transaction.intent))
}
