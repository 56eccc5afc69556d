/**
 * Compares the read models that money depends on with the log: the key and address of each wallet, the scopes of API
 * keys, the contracts of assets. Folds every stream, on one snapshot, in pages, so memory use is constant, and finds the
 * events that cannot be read. `replay --diff` compares every other table.
 */
import type pg from 'pg'
import {
  type AnyAggregate,
  type CheckedModel,
  createFold,
  type FoldedStream,
  type HeldStream,
} from '../../event-log/fold.ts'
import { readStreams } from '../../event-log/read-streams.ts'
import type { SetAside } from '../../event-log/set-aside.ts'
import { liveSchema, quoted, readPrimaryKeys } from '../../event-log/table-shape.ts'

export type RowDifference = {
  readonly table: string
  /** The values of the primary key. */
  readonly key: string
  /** One line with the row, and for each column its value and the value in the log. */
  readonly message: string
}

export type ComparedRows = {
  readonly rows: number
  /** The first ones of each table. */
  readonly differences: readonly RowDifference[]
  /** The first streams with an event that cannot be read. */
  readonly held: readonly HeldStream[]
  readonly heldStreams: number
}

const ROWS_AT_ONCE = 500
/** Maximum differences reported per table. */
const MOST_NAMED = 100

type Row = Readonly<Record<string, unknown>>
type Keys = ReadonlyMap<string, readonly string[]>

/**
 * @param client in a transaction with a fixed snapshot
 * @param log.aggregates every aggregate whose streams the log holds
 */
export async function compareRows(
  client: pg.Client,
  models: readonly CheckedModel[],
  { aggregates, setAside }: { readonly aggregates: readonly AnyAggregate[]; readonly setAside: SetAside },
): Promise<ComparedRows> {
  const columns = await readPrimaryKeys(client, await liveSchema(client))
  const keys: Keys = new Map([...columns].map(([table, key]) => [table, key.map(({ name }) => name)]))
  const waiting = new Map(models.map(({ table }) => [table, [] as Row[]]))
  const differences: RowDifference[] = []
  let rows = 0

  async function compare(least: number): Promise<void> {
    for (const [table, expected] of waiting) {
      if (expected.length < least) continue
      waiting.set(table, [])
      rows += expected.length
      differences.push(...(await differing(client, table, keys.get(table) ?? [], expected)))
    }
  }

  const take = ({ rows: folded }: FoldedStream) => {
    for (const [table, expected] of waiting) expected.push(...(folded.get(table)?.values() ?? []))
  }
  const fold = createFold({ aggregates, primaryKeys: keys, setAside })
  for await (const batch of readStreams(client, {})) {
    for (const row of batch) {
      const ended = fold.take(row)
      if (ended !== null) take(ended)
    }
    await compare(ROWS_AT_ONCE)
  }
  const last = fold.end()
  if (last !== null) take(last)
  await compare(1)
  for (const model of models) differences.push(...(await unrecorded(client, model, keys.get(model.table) ?? [])))
  const { held, heldStreams } = fold.taken()
  return { rows, differences: models.flatMap(({ table }) => firstOf(differences, table)), held, heldStreams }
}

function firstOf(differences: readonly RowDifference[], table: string): readonly RowDifference[] {
  return differences.filter((found) => found.table === table).slice(0, MOST_NAMED)
}

/** Both sides are compared as the database prints them, so no column type is compared by JavaScript. */
async function differing(
  client: pg.Client,
  table: string,
  key: readonly string[],
  expected: readonly Row[],
): Promise<readonly RowDifference[]> {
  const joined = key.map((column) => `r.${quoted(column)} = e.${quoted(column)}`).join(' AND ')
  const { rows } = await client.query<{ expected: Row; actual: Row | null }>(
    `SELECT to_jsonb(e) AS expected, to_jsonb(r) AS actual
       FROM jsonb_populate_recordset(NULL::${quoted(table)}, $1::jsonb) AS e LEFT JOIN ${quoted(table)} AS r ON ${joined}
      WHERE to_jsonb(e) IS DISTINCT FROM to_jsonb(r)`,
    [JSON.stringify(expected)],
  )
  return rows.map(({ expected: row, actual }) => {
    const name = nameOf(key, row)
    if (actual === null)
      return { table, key: name, message: `${table} ${name} is missing, but the log has its events.` }
    const columns = Object.keys(row).filter((column) => JSON.stringify(row[column]) !== JSON.stringify(actual[column]))
    const what = columns.map((column) => `${column} is ${text(actual[column])} but should be ${text(row[column])}`)
    return { table, key: name, message: `${table} ${name} differs from the log: ${what.join('; ')}.` }
  })
}

/** Rows without a stream in the log. */
async function unrecorded(
  client: pg.Client,
  { table, streamOf }: CheckedModel,
  key: readonly string[],
): Promise<readonly RowDifference[]> {
  const { rows } = await client.query<{ row: Row }>(
    `SELECT to_jsonb(r) AS row FROM ${quoted(table)} AS r
      WHERE NOT EXISTS (SELECT FROM events AS e WHERE e.stream_id = ${streamOf} AND e.stream_version = 1) LIMIT ${MOST_NAMED}`,
  )
  return rows.map(({ row }) => {
    const name = nameOf(key, row)
    return {
      table,
      key: name,
      message: `${table} ${name} has no events in the log: it was inserted directly into the database.`,
    }
  })
}

function nameOf(key: readonly string[], row: Row): string {
  return key.map((column) => String(row[column])).join(' ')
}

function text(value: unknown): string {
  return JSON.stringify(value ?? null)
}
