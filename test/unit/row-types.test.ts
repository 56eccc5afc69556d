/**
 * The type of a query's rows and the SQL beside it. Columns of tables come from the Prisma schema, so that a misspelt one
 * does not compile; the compiler does not see whether the SQL selects them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** Types written by hand of columns that the schema's types may not describe there. */
const BY_HAND: ReadonlySet<string> = new Set([
  'event-log/migrate.ts migration_name', // Prisma's own table.
  'event-log/migrate.ts checksum',
  'event-log/position-gaps.ts position', // A derived table that the two queries share has it.
  'event-log/position-gaps.ts left_out',
  'jobs/work.ts id', // A part of the statement that the capability gives.
  'keys/postgres-keystore.ts envelope', // The kernel's parts import only core.
  'nft/tokens/token-rows.ts count', // A function names its column.
])

type Query = { readonly file: string; readonly type: string; readonly sql: string }

/** The text between a parenthesis and its counterpart. */
function argumentsAt(source: string, start: number): string {
  let depth = 0
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === '(') depth += 1
    if (source[at] === ')') depth -= 1
    if (depth === 0) return source.slice(start, at)
  }
  return source.slice(start)
}

/** Each query with a type and the statement itself: not those whose text is a variable. */
function readQueries(): readonly Query[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    if (!file.endsWith('.ts') || file.startsWith('generated')) return []
    const source = readFileSync(join(SRC, file), 'utf8')
    return [...source.matchAll(/query<([^(]+?)>\(/g)].flatMap(({ 0: whole, 1: type = '', index }) => {
      const sql = argumentsAt(source, index + whole.length - 1)
      return /\bSELECT\b|\bRETURNING\b/.test(sql) ? [{ file, type, sql }] : []
    })
  })
}

const queries = readQueries()

t.test('a row type written beside its SQL has no column of a table but from the schema', (t) => {
  const found = queries.flatMap(({ file, type, sql }) =>
    // More precise types of columns in the schema are compared with it.
    [...type.replace(/', \{[^}]*\}>/g, "'>").matchAll(/(\w+)\??: (?!Row<|EventRow)/g)].flatMap(([, field = '']) =>
      new RegExp(`\\bAS (\\w+\\([^)]*\\b)?"?${field}\\b`).test(sql) ? [] : [`${file} ${field}`],
    ),
  )
  t.strictSame(new Set(found), BY_HAND)
  t.end()
})

t.test('the SQL beside a row type contains the columns that the type picks', (t) => {
  const picks = queries.flatMap(({ file, type, sql }) =>
    [...type.matchAll(/Pick<(?:EventRow|Row<[^>]+>), ([^>]+)>/g)].flatMap(([, columns = '']) =>
      [...columns.matchAll(/'(\w+)'/g)].map(([, column = '']) => ({ file, column, sql })),
    ),
  )
  t.ok(picks.length > 50, `${picks.length} picked columns`)
  for (const { file, column, sql } of picks) t.match(sql, new RegExp(`\\b${column}\\b`), `${file} selects ${column}`)
  t.end()
})
