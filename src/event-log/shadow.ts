/**
 * A second copy of the read models beside the live ones: separate tables, filled stream by stream in short
 * transactions, so that no subscription of the running service waits for them.
 */
import type { Client } from 'pg'
import type { ReadModelKind } from '../core/declaration.ts'
import type { ReadModel } from '../core/registry.ts'
import type { FoldedStream } from './fold.ts'
import { type KeyColumn, quoted } from './table-shape.ts'

/** Characters of row text in one insert: large enough to hide the round trip, small in memory. */
const CHUNK_CHARACTERS = 1_000_000
const STAGE = 'stage_'

export type Shadow = {
  /** Adds the rows of a stream: to the empty tables, or after `fill` to staging tables until `merge`. */
  readonly add: (stream: FoldedStream) => Promise<void>
  /** Ends the first pass over the log: combines the contributions of several streams to one row. */
  readonly fill: () => Promise<void>
  /** Ends a pass over streams that grew: their rows replace their earlier ones. */
  readonly merge: () => Promise<void>
  /** Stops writing to this table: it has been swapped in. */
  readonly release: (table: ReadModel) => void
}

/** Creates the tables, empty and without indexes. */
export async function createShadow(settings: {
  /** The session that creates and writes the tables. */
  readonly writer: Client
  readonly live: string
  /** `pg_temp` for tables that end with the session. */
  readonly schema: string
  readonly tables: readonly ReadModel[]
  readonly readModels: Readonly<Record<ReadModel, ReadModelKind>>
  readonly primaryKeys: ReadonlyMap<string, readonly KeyColumn[]>
}): Promise<Shadow> {
  const { writer, live, schema, tables, readModels } = settings
  await writer.query('SET synchronous_commit = off')
  for (const table of tables) {
    const like = `(LIKE ${quoted(live)}.${quoted(table)} INCLUDING ALL EXCLUDING INDEXES)`
    await writer.query(`CREATE TABLE ${nameIn(schema, table)} ${like}`)
    await writer.query(`CREATE TABLE ${nameIn(schema, STAGE + table)} ${like}`)
    if (readModels[table] === 'key') {
      await writer.query(`ALTER TABLE ${nameIn(schema, STAGE + table)} ADD COLUMN rank integer NOT NULL`)
    }
  }
  let isFilled = false
  const open = new Set(tables)
  const rows = createChunks(settings, open, (table) => isFilled || readModels[table] !== 'stream')
  const merge = async () => {
    await rows.flush()
    for (const table of open) await mergeStage(settings, table)
  }
  return {
    add: (stream) => rows.add(stream),
    async fill() {
      await merge()
      isFilled = true
    },
    merge,
    release: (table) => void open.delete(table),
  }
}

/** Buffers rows for the tables: one insert runs while the next rows collect. */
function createChunks(
  { writer, schema, tables }: Pick<Parameters<typeof createShadow>[0], 'writer' | 'schema' | 'tables'>,
  open: ReadonlySet<ReadModel>,
  isStaged: (table: ReadModel) => boolean,
) {
  const chunks = new Map(tables.map((table) => [table as string, { table, rows: [] as string[], characters: 0 }]))
  let underWay: Promise<unknown> = Promise.resolve()

  async function send(chunk: { readonly table: ReadModel; rows: string[]; characters: number }): Promise<void> {
    const { table, rows } = chunk
    if (rows.length === 0) return
    chunk.rows = []
    chunk.characters = 0
    await underWay
    const target = nameIn(schema, isStaged(table) ? STAGE + table : table)
    underWay = writer.query(`INSERT INTO ${target} SELECT * FROM json_populate_recordset(NULL::${target}, $1::json)`, [
      `[${rows.join(',')}]`,
    ])
    underWay.catch(() => undefined) // Thrown at the next send or flush.
  }

  async function put(table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
    const chunk = chunks.get(table)
    if (chunk === undefined || !open.has(chunk.table)) return
    const text = JSON.stringify(row)
    chunk.rows.push(text)
    chunk.characters += text.length
    if (chunk.characters >= CHUNK_CHARACTERS) await send(chunk)
  }

  return {
    async add({ rows, holds, spends, claims }: FoldedStream): Promise<void> {
      for (const [table, kept] of rows) for (const row of kept.values()) await put(table, row)
      for (const hold of holds) await put('wallet_holds', hold)
      for (const spend of spends) await put('spend_buckets', spend)
      for (const claim of claims) await put('idempotency_keys', claim)
    },
    async flush(): Promise<void> {
      for (const chunk of chunks.values()) await send(chunk)
      await underWay
    },
  }
}

/** The only column of a table of sums that is not of its key. */
const SUM_OF: Readonly<Partial<Record<ReadModel, string>>> = { wallet_holds: 'held', spend_buckets: 'spent' }

type Merge = (names: {
  readonly target: string
  readonly stage: string
  readonly keys: string
  readonly key: readonly KeyColumn[]
  /** The column of a sum. */
  readonly sum: string
}) => string[]

/** How the staged rows of a table become its rows. */
const MERGES: Readonly<Record<ReadModelKind, Merge>> = {
  // All old rows of the streams are deleted before any is inserted: a nonce may have moved from one row to another.
  stream: ({ target, stage, key }) => [
    `DELETE FROM ${target} AS t USING ${stage} AS s WHERE ${key.map(({ name }) => `t.${quoted(name)} = s.${quoted(name)}`).join(' AND ')}`,
    `INSERT INTO ${target} SELECT * FROM ${stage}`,
  ],
  first: ({ target, stage, keys, key }) => [
    `INSERT INTO ${target} SELECT DISTINCT ON (${keys}) s.* FROM ${stage} AS s WHERE NOT EXISTS (SELECT FROM ${target} AS t WHERE ${key
      .map(({ name }) => `t.${quoted(name)} = s.${quoted(name)}`)
      .join(' AND ')}) ORDER BY ${keys}`,
  ],
  sum: ({ target, stage, keys, key, sum }) => [
    `MERGE INTO ${target} AS t
       USING (SELECT ${keys}, sum(${sum}) AS ${sum} FROM ${stage} GROUP BY ${keys} HAVING sum(${sum}) <> 0) AS s
          ON ${key.map(({ name }) => `t.${quoted(name)} = s.${quoted(name)}`).join(' AND ')}
        WHEN MATCHED THEN UPDATE SET ${sum} = t.${sum} + s.${sum}
        WHEN NOT MATCHED THEN INSERT (${keys}, ${sum}) VALUES (${key.map(({ name }) => `s.${quoted(name)}`).join(', ')}, s.${sum})`,
  ],
  key: ({ target, stage, keys }) => [
    `INSERT INTO ${target} (tenant_id, key, fingerprint, resource_id)
       SELECT DISTINCT ON (${keys}) tenant_id, key, fingerprint, resource_id FROM ${stage} ORDER BY ${keys}, rank, resource_id
     ON CONFLICT DO NOTHING`,
  ],
}

async function mergeStage(
  { writer, schema, readModels, primaryKeys }: Omit<Parameters<typeof createShadow>[0], 'live' | 'tables'>,
  table: ReadModel,
): Promise<void> {
  const key = primaryKeys.get(table)
  if (key === undefined) throw new Error(`the table ${table} has no primary key`)
  const stage = nameIn(schema, STAGE + table)
  const { rowCount } = await writer.query(`SELECT FROM ${stage} LIMIT 1`)
  if (rowCount === 0) return
  const keys = key.map(({ name }) => quoted(name)).join(', ')
  const names = { target: nameIn(schema, table), stage, keys, key, sum: SUM_OF[table] ?? '' }
  for (const statement of MERGES[readModels[table]](names)) {
    await writer.query(statement)
  }
  await writer.query(`TRUNCATE ${stage}`)
}

export function nameIn(schema: string, table: string): string {
  return `${quoted(schema)}.${quoted(table)}`
}
