/** What the catalogue of a database has that a login could touch. Nothing is listed here by name. */
import type { Pool } from 'pg'

export type TableObject = {
  readonly oid: number
  /** Quoted, with its schema. */
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isGenerated: boolean }[]
}
export type FunctionObject = {
  readonly oid: number
  /** `name(type, …)`, with its schema. */
  readonly name: string
  /** Its name alone, quoted. */
  readonly call: string
  readonly arguments: readonly string[]
  readonly isProcedure: boolean
}
export type NamedObject = { readonly oid: number; readonly name: string }

export type DatabaseObjects = {
  readonly tables: readonly TableObject[]
  readonly functions: readonly FunctionObject[]
  readonly sequences: readonly NamedObject[]
  readonly schemas: readonly NamedObject[]
  /** Every role of the server but those of PostgreSQL itself. */
  readonly roles: readonly string[]
  /** Relations and functions of PostgreSQL that not everybody may use. */
  readonly guarded: readonly { readonly oid: number; readonly name: string; readonly kind: 'relation' | 'function' }[]
}

/** The schemas of Bursar and of the queues, and any other that somebody has added. */
const OURS = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"

export async function findObjects(owner: Pool): Promise<DatabaseObjects> {
  const rowsOf = async <Row extends object>(text: string) => (await owner.query<Row>(text)).rows
  return {
    tables: await rowsOf<TableObject>(
      `SELECT c.oid::integer AS oid, format('%I.%I', n.nspname, c.relname) AS name,
              json_agg(json_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod),
                                         'isGenerated', a.attgenerated <> '') ORDER BY a.attnum) AS columns
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${OURS} GROUP BY 1, 2 ORDER BY 2`,
    ),
    functions: await rowsOf<FunctionObject>(
      `SELECT p.oid::integer AS oid, format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) AS name,
              format('%I.%I', n.nspname, p.proname) AS call, p.prokind = 'p' AS "isProcedure",
              array(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS x(t, i) ORDER BY i) AS arguments
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE ${OURS} ORDER BY 2`,
    ),
    sequences: await rowsOf<NamedObject>(
      `SELECT c.oid::integer AS oid, format('%I.%I', n.nspname, c.relname) AS name
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' AND ${OURS} ORDER BY 2`,
    ),
    schemas: await rowsOf<NamedObject>(
      `SELECT n.oid::integer AS oid, quote_ident(n.nspname) AS name FROM pg_namespace n
        WHERE n.nspname !~ '^pg_(toast_)?temp_' ORDER BY 2`,
    ),
    roles: (
      await rowsOf<{ name: string }>("SELECT rolname AS name FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1")
    ).map(({ name }) => name),
    guarded: await rowsOf<DatabaseObjects['guarded'][number]>(
      `SELECT c.oid::integer AS oid, c.relname AS name, 'relation' AS kind FROM pg_class c
        WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v')
          AND NOT EXISTS (SELECT FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS x
                           WHERE x.grantee = 0 AND x.privilege_type = 'SELECT')
       UNION ALL SELECT p.oid::integer, p.oid::regprocedure::text, 'function' FROM pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace
          AND NOT EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS x
                           WHERE x.grantee = 0 AND x.privilege_type = 'EXECUTE')
        ORDER BY 2`,
    ),
  }
}
