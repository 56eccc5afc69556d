/** What a process relies on in its database: versions, the order of ids, durable writes. One statement reads all of it. */
import type { Pool } from 'pg'
import { Conflict } from '../core/errors.ts'
import { refuseNewerSchema, refuseOlderSchema, type UnknownMigration } from './fitting-versions.ts'
import { migrationNames } from './migrations.ts'

/** A setting with which a crash of the server loses or damages what was committed. */
export type WeakSetting = {
  readonly setting: 'fsync' | 'full_page_writes' | 'synchronous_commit'
  readonly value: string
  /** A statement for an administrator of the server. */
  readonly fix: string
}

export type DatabaseFacts = {
  readonly user: string
  /** Whether the user can change the tables. */
  readonly owns: boolean
  /** Why no process may use this database; `null` when it may. */
  readonly refusal: Conflict | null
  readonly weak: readonly WeakSetting[]
}

type FactsRow = {
  readonly user: string
  readonly owns: boolean | null
  readonly schema: string | null
  readonly missing: readonly string[]
  readonly unknown: readonly UnknownMigration[]
  readonly next_id: string
  readonly newest_id: string | null
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly has_standby: boolean
  /** Of this database and of the users of Bursar: `value`, and the statement that takes it back. */
  readonly overrides: readonly { readonly value: string; readonly fix: string }[]
}

/** The table of versions, or the right to read it, is missing: `npm run migrate` of this version never ran. */
const NOT_MIGRATED = new Set(['42P01', '42501'])

/** @throws database errors */
export async function readDatabaseFacts(pool: Pick<Pool, 'query'>): Promise<DatabaseFacts> {
  const known = await migrationNames()
  try {
    const { rows } = await pool.query<FactsRow>({ name: 'database_facts', text: FACTS, values: [known] })
    const [row] = rows
    if (row === undefined) throw new Error('the database returned no facts')
    return { user: row.user, owns: row.owns === true, refusal: refusalOf(row, known), weak: weakSettings(row) }
  } catch (error) {
    if (!NOT_MIGRATED.has((error as { readonly code?: string }).code ?? '')) throw error
    return { user: '', owns: false, refusal: refuseOlderSchema(known, known, null), weak: [] }
  }
}

/** In one line, for logs and health checks; `null` when every setting is durable. */
export function weaknessOf({ weak }: DatabaseFacts): string | null {
  if (weak.length === 0) return null
  const settings = weak.map(({ setting, value }) => `${setting} = ${value}`).join(', ')
  return `PostgreSQL runs with ${settings}: a crash of its machine can lose what was answered. Run ${weak.map(({ fix }) => fix).join(' ')}`
}

function refusalOf(row: FactsRow, known: readonly string[]): Conflict | null {
  return (
    refuseNewerSchema(known, row.unknown) ?? refuseOlderSchema(known, row.missing, row.schema) ?? refuseIdsBehind(row)
  )
}

/** What a statement sees was written by lower ids than the next one, unless it came from another server. */
function refuseIdsBehind({ next_id, newest_id }: FactsRow): Conflict | null {
  if (newest_id === null || BigInt(newest_id) < BigInt(next_id)) return null
  return new Conflict(
    'log_ids_behind',
    `The event log was restored into a server whose next transaction id is ${next_id}, below that of its newest event (${newest_id}), so new events would be read before older ones: run npm run migrate.`,
  )
}

function weakSettings({
  fsync,
  full_page_writes,
  synchronous_commit,
  has_standby,
  overrides,
}: FactsRow): WeakSetting[] {
  const isWeak = (value: string) => value === 'off' || (value === 'local' && has_standby)
  const system = (setting: WeakSetting['setting'], value: string): WeakSetting[] => [
    { setting, value, fix: `ALTER SYSTEM SET ${setting} = on; SELECT pg_reload_conf();` },
  ]
  const weakOverrides = overrides
    .filter(({ value }) => isWeak(value))
    .map(({ value, fix }) => ({ setting: 'synchronous_commit' as const, value, fix }))
  const commits =
    weakOverrides.length > 0 || !isWeak(synchronous_commit)
      ? weakOverrides
      : system('synchronous_commit', synchronous_commit)
  return [
    ...(fsync === 'off' ? system('fsync', fsync) : []),
    ...(full_page_writes === 'off' ? system('full_page_writes', full_page_writes) : []),
    ...commits,
  ]
}

const FACTS = `
  SELECT session_user AS user,
         pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = to_regclass('events')), 'MEMBER') AS owns,
         (SELECT max(migration) FROM schema_versions) AS schema,
         ARRAY(SELECT name FROM unnest($1::text[]) AS name
                WHERE NOT EXISTS (SELECT FROM schema_versions WHERE migration = name) ORDER BY name) AS missing,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('migration', migration, 'oldestProgram', oldest_program)), '[]')
            FROM schema_versions WHERE migration <> ALL ($1)) AS unknown,
         pg_snapshot_xmax(pg_current_snapshot())::text AS next_id,
         (SELECT e.transaction_id::text FROM events e ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1) AS newest_id,
         current_setting('fsync') AS fsync,
         current_setting('full_page_writes') AS full_page_writes,
         current_setting('synchronous_commit') AS synchronous_commit,
         current_setting('synchronous_standby_names') <> '' AS has_standby,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('value', split_part(one, '=', 2), 'fix', concat_ws(' ',
                   CASE WHEN s.setrole = 0 THEN format('ALTER DATABASE %I', d.datname) ELSE format('ALTER ROLE %I', r.rolname) END,
                   CASE WHEN s.setrole <> 0 AND s.setdatabase <> 0 THEN format('IN DATABASE %I', d.datname) END,
                   'RESET synchronous_commit;'))), '[]')
            FROM pg_db_role_setting s
            CROSS JOIN unnest(s.setconfig) AS one
            LEFT JOIN pg_roles r ON r.oid = s.setrole
            LEFT JOIN pg_database d ON d.oid = s.setdatabase
           WHERE one LIKE 'synchronous_commit=%'
             AND (s.setdatabase = 0 OR d.datname = current_database())
             AND (s.setrole = 0 OR r.rolname = session_user
                  OR EXISTS (SELECT FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = s.setrole AND g.rolname LIKE 'bursar\\_%'))
         ) AS overrides`
