/** In-memory exports, and the comparison of two databases. */
import type { Pool } from 'pg'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { READ_MODEL_NAMES } from '../../src/declarations.ts'
import { type ExportSettings, exportLog } from '../../src/event-log/export-log.ts'
import { type Imported, importLog } from '../../src/event-log/import-log.ts'
import { readPrimaryKeys } from '../../src/event-log/table-shape.ts'

/** The lines of an export, without line feeds. */
export async function exported(pool: Pool, settings: ExportSettings = {}): Promise<string[]> {
  let text = ''
  await exportLog(pool, settings, async (lines) => {
    text += lines
  })
  return text.split('\n').slice(0, -1)
}

export function imported(pool: Pool, lines: readonly string[], verify = true): Promise<Imported> {
  return importLog(pool, LOG_CONTENTS, linesOf(lines), { verify })
}

async function* linesOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

/** Every read model as text, row by row; of the holds only non-zero ones. */
export async function readModels(pool: Pool): Promise<Record<string, string[]>> {
  const models: Record<string, string[]> = {}
  for (const table of READ_MODEL_NAMES) {
    const condition = table === 'wallet_holds' ? 'WHERE held <> 0' : ''
    const { rows } = await pool.query<{ row: string }>(
      `SELECT r::text AS row FROM ${table} AS r ${condition} ORDER BY r::text COLLATE "C"`,
    )
    models[table] = rows.map(({ row }) => row)
  }
  return models
}

/** Rows by table and primary key; values as the database prints them. */
export type Models = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string | null>>>>>>

export async function modelsOf(pool: Pool): Promise<Models> {
  const client = await pool.connect()
  try {
    await client.query("SET timezone = 'UTC'")
    const keys = await readPrimaryKeys(client, 'public')
    const models: Record<string, Record<string, Record<string, string | null>>> = {}
    for (const table of READ_MODEL_NAMES) {
      const { rows } = await client.query<{ row: Record<string, string | null> }>(
        `SELECT (SELECT jsonb_object_agg(c.key, c.value) FROM jsonb_each_text(to_jsonb(r)) AS c) AS row FROM ${table} AS r`,
      )
      const named = rows.map(
        ({ row }) => [(keys.get(table) ?? []).map(({ name }) => row[name]).join(' '), row] as const,
      )
      models[table] = Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)))
    }
    return models
  } finally {
    client.release(true) // Its time zone differs.
  }
}

/** What `expected` has and `found` does not have, or has differently. Later columns and rows do not count. */
export function missingFrom(found: Models, expected: Models): string[] {
  return Object.entries(expected).flatMap(([table, rows]) =>
    Object.entries(rows).flatMap(([key, row]) =>
      Object.entries(row)
        .filter(([column, value]) => found[table]?.[key]?.[column] !== value)
        .map(([column, value]) => `${table} ${key}: ${column} is ${found[table]?.[key]?.[column]}, not ${value}`),
    ),
  )
}
