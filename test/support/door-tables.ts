/** What a login can do with each column of each table, by trying it. */
import type { Client, Pool } from 'pg'
import { attempt, isRefused } from './door-attempts.ts'
import type { TableObject } from './door-objects.ts'

type Try = {
  readonly table: TableObject
  readonly privilege: string
  /** Null for the whole table. */
  readonly column: string | null
  readonly statement: string
}

/** In the order in which they are written. */
const OF_COLUMNS = ['select', 'insert', 'update'] as const
const OF_TABLES = ['delete', 'truncate', 'trigger', 'own'] as const

/**
 * @returns by table: `select, insert, update (a, b), delete`. Tables that are closed are left out.
 * @throws Error when the catalogue shows another privilege
 */
export async function tableDoors(
  owner: Pool,
  session: Client,
  tables: readonly TableObject[],
): Promise<Readonly<Record<string, string>>> {
  const tries = tables.flatMap(triesOf)
  const outcomes = await attempt(
    session,
    tries.map(({ statement }) => statement),
  )
  const open = tries.filter((_, n) => {
    const outcome = outcomes[n]
    return outcome !== undefined && !isRefused(outcome)
  })
  await requireAgreement(owner, session.user ?? '', tries, new Set(open))
  return Object.fromEntries(
    tables.flatMap((table) => {
      const found = open.filter((each) => each.table === table)
      return found.length === 0 ? [] : [[table.name, written(table, found)]]
    }),
  )
}

/** No statement touches a row: PostgreSQL checks privileges before it looks for one. */
function triesOf(table: TableObject): Try[] {
  const { name } = table
  const ofColumns = table.columns.flatMap(({ name: column, type, isGenerated }) => [
    { table, column, privilege: 'select', statement: `SELECT ${column} FROM ${name} WHERE false` },
    ...(isGenerated
      ? []
      : [
          {
            table,
            column,
            privilege: 'insert',
            statement: `INSERT INTO ${name} (${column}) OVERRIDING SYSTEM VALUE SELECT NULL::${type} WHERE false`,
          },
        ]),
    { table, column, privilege: 'update', statement: `UPDATE ${name} SET ${column} = DEFAULT WHERE false` },
  ])
  const whole = {
    delete: `DELETE FROM ${name} WHERE false`,
    truncate: `TRUNCATE ${name}`,
    trigger: `CREATE TRIGGER door BEFORE UPDATE ON ${name} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
    own: `ALTER TABLE ${name} RENAME TO door`,
  }
  return [
    ...ofColumns,
    ...OF_TABLES.map((privilege) => ({ table, column: null, privilege, statement: whole[privilege] })),
  ]
}

function written(table: TableObject, open: readonly Try[]): string {
  const ofColumns = OF_COLUMNS.flatMap((privilege) => {
    const columns = open.filter((each) => each.privilege === privilege).map(({ column }) => column)
    const all = table.columns.filter(({ isGenerated }) => privilege !== 'insert' || !isGenerated)
    if (columns.length === 0) return []
    return [columns.length === all.length ? privilege : `${privilege} (${columns.join(', ')})`]
  })
  const whole = OF_TABLES.filter((privilege) => open.some((each) => each.privilege === privilege))
  return [...ofColumns, ...whole].join(', ')
}

async function requireAgreement(
  owner: Pool,
  user: string,
  tries: readonly Try[],
  open: ReadonlySet<Try>,
): Promise<void> {
  const { rows } = await owner.query<{ may: boolean }>(
    `SELECT has_schema_privilege($1, c.relnamespace, 'USAGE') AND
            CASE WHEN x.privilege = 'own' THEN pg_has_role($1, c.relowner, 'USAGE')
                 WHEN x.col = '' THEN has_table_privilege($1, c.oid, x.privilege)
                 ELSE has_column_privilege($1, c.oid, (SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND quote_ident(attname) = x.col), x.privilege)
            END AS may
       FROM unnest($2::integer[], $3::text[], $4::text[]) WITH ORDINALITY AS x(oid, col, privilege, n)
       JOIN pg_class c ON c.oid = x.oid::oid ORDER BY x.n`,
    [
      user,
      tries.map(({ table }) => table.oid),
      tries.map(({ column }) => column ?? ''),
      tries.map(({ privilege }) => privilege),
    ],
  )
  const odd = tries.filter((each, n) => rows[n]?.may !== open.has(each))
  if (odd.length > 0)
    throw new Error(
      `${user}: the catalogue and these attempts disagree: ${odd.map(({ statement }) => statement).join('; ')}`,
    )
}
