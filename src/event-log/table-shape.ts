/** The definition of a table: columns, keys, indexes, storage parameters and grants, read from the database to create a copy of it. */
import { type ClientBase, escapeIdentifier } from 'pg'

/** Quotes an SQL identifier. */
export const quoted = escapeIdentifier

export type KeyColumn = { readonly name: string; readonly type: string }

/** The schema of unqualified table names. */
export async function liveSchema(client: ClientBase): Promise<string> {
  const { rows } = await client.query<{ name: string | null }>('SELECT current_schema() AS name')
  const name = rows[0]?.name
  if (name === null || name === undefined) throw new Error('the database has no schema on its search path')
  return name
}

/** The primary key columns of each table, in order. */
export async function readPrimaryKeys(
  client: ClientBase,
  schema: string,
): Promise<ReadonlyMap<string, readonly KeyColumn[]>> {
  const { rows } = await client.query<{ table: string; name: string; type: string }>(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid, unnest(i.indkey) WITH ORDINALITY AS k(attnum, n), pg_attribute a
      WHERE i.indisprimary AND c.relnamespace = $1::text::regnamespace AND a.attrelid = i.indrelid AND a.attnum = k.attnum
      ORDER BY c.relname, k.n`,
    [quoted(schema)],
  )
  const keys = new Map<string, KeyColumn[]>()
  for (const { table, ...column } of rows) keys.set(table, [...(keys.get(table) ?? []), column])
  return keys
}

export type TableShape = {
  /**
   * Statements that create each key and index of the live table, with the same name, on the table in another schema.
   */
  readonly indexes: (schema: string) => readonly string[]
  /** Statements that set the storage parameters, for the rows that are written from then on. */
  readonly parameters: (schema: string) => readonly string[]
  /** Statements that set the owner first, then the privileges of each role on the live table. */
  readonly grants: (schema: string) => readonly string[]
  /** Changes when a migration changes the table. */
  readonly digest: string
}

/** @throws Error for a table that cannot be swapped because another object depends on it */
export async function readShape(client: ClientBase, schema: string, table: string): Promise<TableShape> {
  const live = `${quoted(schema)}.${quoted(table)}`
  const { rows: indexes } = await client.query<{ name: string; definition: string; constraint: string | null }>(
    `SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition, pg_get_constraintdef(k.oid) AS constraint
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
      WHERE i.indrelid = $1::text::regclass ORDER BY i.indisprimary DESC, c.relname`,
    [live],
  )
  const { rows: grants } = await client.query<{ privilege: string; role: string; grantable: boolean }>(
    `SELECT g.privilege_type AS privilege, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS role,
            g.is_grantable AS grantable
       FROM pg_class c, aclexplode(c.relacl) WITH ORDINALITY AS g(grantor, grantee, privilege_type, is_grantable, n)
      WHERE c.oid = $1::text::regclass AND g.grantee <> c.relowner ORDER BY g.n`,
    [live],
  )
  const { rows: tables } = await client.query<{ owner: string; parameters: string | null }>(
    `SELECT quote_ident(pg_get_userbyid(relowner)) AS owner, array_to_string(reloptions, ', ') AS parameters
       FROM pg_class WHERE oid = $1::text::regclass`,
    [live],
  )
  const { rows: columns } = await client.query(
    `SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
      WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [live],
  )
  return {
    indexes: (other) =>
      indexes.map(({ name, definition, constraint }) =>
        constraint === null
          ? definition.replace(
              /^(CREATE (?:UNIQUE )?INDEX .+? ON ).+?( USING )/,
              `$1${quoted(other)}.${quoted(table)}$2`,
            )
          : `ALTER TABLE ${quoted(other)}.${quoted(table)} ADD CONSTRAINT ${quoted(name)} ${constraint}`,
      ),
    parameters: (other) =>
      tables.flatMap(({ parameters }) =>
        parameters === null ? [] : [`ALTER TABLE ${quoted(other)}.${quoted(table)} SET (${parameters})`],
      ),
    grants: (other) => [
      ...tables.map(({ owner }) => `ALTER TABLE ${quoted(other)}.${quoted(table)} OWNER TO ${owner}`),
      ...grants.map(
        ({ privilege, role, grantable }) =>
          `GRANT ${privilege} ON ${quoted(other)}.${quoted(table)} TO ${role}${grantable ? ' WITH GRANT OPTION' : ''}`,
      ),
    ],
    digest: JSON.stringify([columns, indexes, tables, grants]),
  }
}
