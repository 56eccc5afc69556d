/** Resolves the argument of `explain`: a transaction by id or hash, or another resource by id. */
import type { Pool } from 'pg'
import type { Explained } from '../../capability.ts'
import { BadInput } from '../../cli/command.ts'
import { NotFound } from '../../core/errors.ts'
import { derivedIdPattern, idPattern } from '../../core/ids.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { transactions } from '../../transactions/declaration.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'

export type Target =
  | { readonly kind: 'transaction'; readonly id: string }
  | { readonly kind: 'resource'; readonly id: string; readonly resource: Explained }

const HASH = /^0x[0-9a-fA-F]{64}$/

/**
 * @param explained every resource that may be named
 * @throws BadInput for text that is neither an id nor a hash; NotFound when no transaction has the id or the hash
 */
export async function findTarget(pool: Pool, explained: readonly Explained[], text: string): Promise<Target> {
  if (HASH.test(text)) return findByHash(pool, text.toLowerCase())
  if (new RegExp(idPattern(transactions.ids.transaction)).test(text)) {
    const { rowCount } = await pool.query(`SELECT FROM ${TRANSACTIONS} AS transactions WHERE transaction_id = $1`, [
      text,
    ])
    if (rowCount === 0) throw new NotFound('transaction', 'transaction_not_found', `There is no transaction ${text}.`)
    return { kind: 'transaction', id: text }
  }
  for (const resource of explained) {
    const id = idOf(resource, text)
    if (id !== null) return { kind: 'resource', id, resource }
  }
  const prefixes = [transactions.ids.transaction, ...explained.flatMap(({ prefix }) => prefix ?? [])]
  const others = explained.flatMap(({ idRule }) => idRule ?? []).map((rule) => `, nor ${rule}`)
  throw new BadInput(
    `${text} is neither an id (${prefixes.join('_, ')}_ and a UUID) nor the hash of a transaction (0x and 64 hex digits)${others.join('')}`,
  )
}

/** The id of the stream of a resource; `null` for text that is none of its ids. */
function idOf({ prefix, aggregate }: Explained, text: string): string | null {
  if (prefix !== null) {
    const isId = [idPattern, derivedIdPattern].some((pattern) => new RegExp(pattern(prefix)).test(text))
    return isId ? text : null
  }
  const category = `${aggregate?.category}-`
  return text.startsWith(category) ? text.slice(category.length) : null
}

/** Every version ever signed is found by its hash, including replaced ones. */
async function findByHash(pool: Pool, hash: string): Promise<Target> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'transaction_id'>>(
    `SELECT transaction_id FROM ${TRANSACTIONS} AS transactions WHERE hashes @> to_jsonb(ARRAY[$1::text]) LIMIT 1`,
    [hash],
  )
  const [row] = rows
  if (row !== undefined) return { kind: 'transaction', id: row.transaction_id }
  const message = `Bursar never signed a transaction with the hash ${hash}: it is incoming, or another program sent it.`
  throw new NotFound('transaction', 'transaction_not_found', message)
}
