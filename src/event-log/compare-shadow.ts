/**
 * Compares shadow tables with the live tables row by row: both sides are read in key order and merged like two sorted
 * lists, so memory use does not depend on the size of the tables.
 */
import type { Client } from 'pg'
import type { ReadModel } from '../core/registry.ts'
import { nameIn } from './shadow.ts'
import { type KeyColumn, quoted } from './table-shape.ts'

/** Values as PostgreSQL prints them: JavaScript numbers cannot hold an amount of 78 digits. */
export type Row = Readonly<Record<string, string | null>>

/** A row that exists on one side only, or differs. A row that differs has both sides. */
export type Difference = {
  readonly table: ReadModel
  /** The columns of the primary key. */
  readonly key: Row
  readonly live: Row | null
  readonly replayed: Row | null
}

export type Compared = {
  readonly table: ReadModel
  readonly key: readonly KeyColumn[]
  /** Sessions, each with its view of the rows. */
  readonly live: { readonly session: Client; readonly schema: string }
  readonly shadow: { readonly session: Client; readonly schema: string }
  /** Compare only rows that the shadow has: for a shadow of part of the log. */
  readonly ofShadowAlone: boolean
}

/** Rows in one fetch of keys and digests. */
const FETCH = 5_000

/** Yields each difference as it is found; none when live equals replayed. Both sessions must be in a transaction. */
export async function* compareShadow(compared: Compared): AsyncGenerator<Difference> {
  const { live, shadow, ofShadowAlone } = compared
  const here = createReader(live.session, digests(compared, live.schema))
  const there = createReader(shadow.session, digests(compared, shadow.schema))
  let [left, right] = await Promise.all([here.next(), there.next()])
  while (left !== null || right !== null) {
    const order = left === null ? 1 : right === null ? -1 : Buffer.compare(left.sortKey, right.sortKey)
    const differs = order !== 0 || left?.digest !== right?.digest
    if (differs && !(order < 0 && ofShadowAlone)) yield await difference(compared, order > 0 ? right : left)
    if (order <= 0) left = await here.next()
    if (order >= 0) right = await there.next()
  }
  await Promise.all([here.close(), there.close()])
}

/** An account with no hold may have a row or none: both mean zero. Buckets that no window reaches are deleted. */
function meaningful(table: ReadModel): string {
  if (table === 'spend_buckets') return `WHERE spent <> 0 AND bucket > date_trunc('day', now()) - interval '31 days'`
  return table === 'wallet_holds' ? 'WHERE held <> 0' : ''
}

function keyText(key: readonly KeyColumn[]): string {
  return `jsonb_build_array(${key.map(({ name }) => `r.${quoted(name)}::text`).join(', ')})::text`
}

/** Ordered by bytes, so that both sides and this process agree on the order. */
function digests({ table, key }: Compared, schema: string): string {
  return `SELECT ${keyText(key)} COLLATE "C" AS key, md5(to_jsonb(r)::text) AS digest FROM ${nameIn(schema, table)} AS r
           ${meaningful(table)} ORDER BY 1`
}

type Digest = { readonly key: string; readonly sortKey: Buffer; readonly digest: string }

let cursors = 0

function createReader(session: Client, query: string) {
  cursors += 1
  const cursor = `compared_${cursors}`
  let rows: { readonly key: string; readonly digest: string }[] = []
  let at = 0
  let isOpen = false
  return {
    async next(): Promise<Digest | null> {
      if (at >= rows.length) {
        if (!isOpen) await session.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`)
        isOpen = true
        rows = (await session.query<{ key: string; digest: string }>(`FETCH ${FETCH} FROM ${cursor}`)).rows
        at = 0
      }
      const row = rows[at]
      at += 1
      return row === undefined ? null : { ...row, sortKey: Buffer.from(row.key) }
    },
    close: () => session.query(`CLOSE ${cursor}`),
  }
}

async function difference(compared: Compared, found: Digest | null): Promise<Difference> {
  const { table, key, live, shadow } = compared
  const values = JSON.parse(found?.key ?? '[]') as string[]
  const [ofLive, ofShadow] = await Promise.all(
    [live, shadow].map(async ({ session, schema }) => {
      const { rows } = await session.query<{ row: Row }>(
        `SELECT (SELECT jsonb_object_agg(c.key, c.value) FROM jsonb_each_text(to_jsonb(r)) AS c) AS row FROM ${nameIn(schema, table)} AS r
          WHERE ${key.map(({ name, type }, n) => `r.${quoted(name)} = $${n + 1}::text::${type}`).join(' AND ')}`,
        values,
      )
      return rows[0]?.row ?? null
    }),
  )
  return {
    table,
    key: Object.fromEntries(key.map(({ name }, n) => [name, values[n] ?? null])),
    live: ofLive ?? null,
    replayed: ofShadow ?? null,
  }
}
