/** Resolves the argument of `explain`: a transaction by id or hash, or a resource that has transactions. */
import type { Pool } from 'pg'
import { BadInput } from '../../cli/command.ts'
import { NotFound } from '../../core/errors.ts'
import { idPattern } from '../../core/ids.ts'
import { ID_PREFIXES, type IdKind } from '../../declarations.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import { WALLETS } from '../../wallets/sql.ts'

export type Listed = { readonly id: string; readonly type: string; readonly state: string; readonly createdAt: string }

export type Target =
  | { readonly kind: 'transaction'; readonly id: string; readonly hash: string | null }
  /** Another resource: its transactions, newest first. */
  | { readonly kind: 'list'; readonly of: string; readonly transactions: readonly Listed[] }

const HASH = /^0x[0-9a-fA-F]{64}$/
const MAX_LISTED = 50

/** How to find the transactions of a resource, and the resource itself. */
const THINGS: Readonly<
  Partial<Record<IdKind, { readonly noun: string; readonly exists: string; readonly where: string }>>
> = {
  wallet: {
    noun: 'wallet',
    exists: `SELECT FROM ${WALLETS} AS wallets WHERE wallet_id = $1`,
    where: 't.wallet_id = $1',
  },
  collection: {
    noun: 'collection',
    exists: 'SELECT FROM nft_collections WHERE collection_id = $1',
    where: `t.subject_type = 'collection' AND t.subject_id = $1`,
  },
  mint: {
    noun: 'mint',
    exists: 'SELECT FROM nft_mints WHERE mint_id = $1',
    where: `t.subject_type = 'mint' AND t.subject_id = $1`,
  },
  nftTransfer: {
    noun: 'nft transfer',
    exists: 'SELECT FROM nft_transfers WHERE transfer_id = $1',
    where: `t.subject_type = 'nft_transfer' AND t.subject_id = $1`,
  },
}

/** @throws BadInput for text that is neither an id nor a hash; NotFound when it does not exist */
export async function findTarget(pool: Pool, text: string): Promise<Target> {
  if (HASH.test(text)) return findByHash(pool, text.toLowerCase())
  if (new RegExp(idPattern(ID_PREFIXES.transaction)).test(text)) {
    const { rowCount } = await pool.query(`SELECT FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $1`, [
      text,
    ])
    if (rowCount === 0) throw new NotFound('transaction', 'transaction_not_found', `There is no transaction ${text}.`)
    return { kind: 'transaction', id: text, hash: null }
  }
  for (const [kind, thing] of Object.entries(THINGS) as [IdKind, NonNullable<(typeof THINGS)[IdKind]>][]) {
    if (new RegExp(idPattern(ID_PREFIXES[kind])).test(text)) return listOf(pool, text, thing)
  }
  const known = Object.values({ transaction: ID_PREFIXES.transaction, ...prefixesOf() }).join('_, ')
  throw new BadInput(
    `${text} is neither an id (${known}_ and a UUID) nor the hash of a transaction (0x and 64 hex digits)`,
  )
}

function prefixesOf(): Record<string, string> {
  return Object.fromEntries(Object.keys(THINGS).map((kind) => [kind, ID_PREFIXES[kind as IdKind]]))
}

/** Every version ever signed is found by its hash, including replaced ones. */
async function findByHash(pool: Pool, hash: string): Promise<Target> {
  const { rows } = await pool.query<{ transaction_id: string }>(
    `SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE hashes @> to_jsonb(ARRAY[$1::text]) LIMIT 1`,
    [hash],
  )
  const [row] = rows
  if (row !== undefined) return { kind: 'transaction', id: row.transaction_id, hash }
  const message = `Bursar never signed a transaction with the hash ${hash}: it is incoming, or another program sent it.`
  throw new NotFound('transaction', 'transaction_not_found', message)
}

async function listOf(pool: Pool, id: string, thing: { noun: string; exists: string; where: string }): Promise<Target> {
  const { rowCount } = await pool.query(thing.exists, [id])
  if (rowCount === 0) throw new NotFound(thing.noun, undefined, `There is no ${thing.noun} ${id}.`)
  const { rows } = await pool.query<{ id: string; type: string; state: string; at: Date }>(
    `SELECT t.transaction_id AS id, t.type, t.state, t.created_at AS at FROM ${TRANSACTIONS} t WHERE ${thing.where}
      ORDER BY t.transaction_id DESC LIMIT ${MAX_LISTED}`,
    [id],
  )
  const transactions = rows.map(({ at, ...row }) => ({ ...row, createdAt: at.toISOString() }))
  return { kind: 'list', of: `${thing.noun} ${id}`, transactions }
}
