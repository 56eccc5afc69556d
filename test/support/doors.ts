/**
 * What each database login can do, found out by trying everything that the database and the declarations have. A
 * privilege that the catalogue shows and an attempt that says otherwise are an error.
 */
import pg, { type Pool } from 'pg'
import { ROLE_TERMS } from '../../src/compose/database-roles/role-rights.ts'
import { DATABASE_ROLES, type DatabaseRole } from '../../src/core/database-roles.ts'
import { TABLES } from '../../src/declarations.ts'
import { ACTS } from './door-acts.ts'
import { attempt, isRefused, type Outcome, openSession } from './door-attempts.ts'
import { EVENT_NAMES, writeGoldenLog } from './door-events.ts'
import { type DatabaseObjects, type FunctionObject, findObjects } from './door-objects.ts'
import { tableDoors } from './door-tables.ts'

/** Names in alphabetical order. Tables, sequences and schemas with what is open: `select (a, b), insert`. */
export type LoginDoors = {
  /** Event types, `<category>:<type>`. */
  readonly appends: readonly string[]
  /** Tables whose rows an append may carry. */
  readonly rows: readonly string[]
  readonly tables: Readonly<Record<string, string>>
  readonly functions: readonly string[]
  readonly sequences: Readonly<Record<string, string>>
  readonly schemas: Readonly<Record<string, string>>
  /** Relations and functions of PostgreSQL that not everybody may use. */
  readonly guarded: readonly string[]
  readonly leases: readonly string[]
  readonly heartbeats: readonly string[]
  /** Roles that it can become. */
  readonly roles: readonly string[]
  readonly acts: readonly string[]
}

export type Doors = {
  /** Everything that was tried, so that an object which no login may touch has its line too. */
  readonly tried: {
    readonly events: readonly string[]
    /** Each with its columns. */
    readonly tables: Readonly<Record<string, string>>
    readonly functions: readonly string[]
    readonly sequences: readonly string[]
    readonly schemas: readonly string[]
    readonly leases: readonly string[]
    readonly heartbeats: readonly string[]
    readonly acts: readonly string[]
  }
  readonly logins: Readonly<Record<DatabaseRole, LoginDoors>>
}

/** A name for each pattern that some role has. */
const samples = (of: 'leases' | 'processes', names: readonly string[]) =>
  [
    ...new Set(
      DATABASE_ROLES.flatMap((role) => ROLE_TERMS[role][of]).flatMap((pattern) =>
        pattern.includes('%') ? names.map((name) => pattern.replace('%', name)) : [pattern],
      ),
    ),
  ].sort()
const LEASES = samples('leases', ['1-door'])
/** Two parties: what one can report must not depend on the other. */
const HEARTBEATS = samples('processes', ['1', '2'])

/**
 * @param owner of the tables, of a database without events
 * @param urlOf the connection URL of each login; of the parties the first
 */
export async function findDoors(owner: Pool, urlOf: (role: DatabaseRole) => string): Promise<Doors> {
  const sessions = new Map<DatabaseRole, pg.Client>()
  try {
    for (const role of DATABASE_ROLES) sessions.set(role, await openSession(urlOf(role)))
    const appends = await openAppends(owner, sessions)
    const objects = await findObjects(owner)
    const logins: [DatabaseRole, LoginDoors][] = []
    for (const [role, session] of sessions)
      logins.push([role, { appends: appends.get(role) ?? [], ...(await doorsOf(owner, session, objects)) }])
    return { tried: triedOf(objects), logins: Object.fromEntries(logins) as Record<DatabaseRole, LoginDoors> }
  } finally {
    for (const session of sessions.values()) await session.end()
  }
}

function triedOf({ tables, functions, sequences, schemas }: DatabaseObjects): Doors['tried'] {
  const names = (objects: readonly { readonly name: string }[]) => objects.map(({ name }) => name)
  return {
    events: EVENT_NAMES,
    tables: Object.fromEntries(tables.map(({ name, columns }) => [name, names(columns).join(', ')])),
    functions: names(functions),
    sequences: names(sequences),
    schemas: names(schemas),
    leases: LEASES,
    heartbeats: HEARTBEATS,
    acts: Object.keys(ACTS),
  }
}

async function doorsOf(
  owner: Pool,
  session: pg.Client,
  objects: DatabaseObjects,
): Promise<Omit<LoginDoors, 'appends'>> {
  const { user = '' } = session
  return {
    rows: await openNames(session, Object.keys(TABLES).sort(), appendOfRows),
    tables: await tableDoors(owner, session, objects.tables),
    functions: await openFunctions(owner, session, objects.functions),
    sequences: await openModes(session, objects.sequences, {
      select: (name) => `SELECT last_value FROM ${name}`,
      next: (name) => `SELECT nextval(${pg.escapeLiteral(name)})`,
      set: (name) => `SELECT setval(${pg.escapeLiteral(name)}, 1)`,
    }),
    schemas: await openModes(session, objects.schemas, {
      usage: (name) => `SELECT FROM ${name}.door_that_is_missing`,
      create: (name) => `CREATE VIEW ${name}.door AS SELECT 1`,
    }),
    guarded: await openGuarded(owner, user, objects),
    leases: await openNames(session, LEASES, (name) => `SELECT acquire_lease('${name}', 'door', 1000)`),
    heartbeats: await openNames(session, HEARTBEATS, (name) => `SELECT record_heartbeat('${name}', 'door', NULL)`),
    roles: await openNames(
      session,
      objects.roles.filter((role) => role !== user),
      (role) => `SET LOCAL ROLE ${pg.escapeIdentifier(role)}`,
    ),
    acts: await openNames(session, Object.keys(ACTS), (act) => ACTS[act] ?? ''),
  }
}

/** An event has several places in the golden log. At one of them its writer may append it. */
async function openAppends(
  owner: Pool,
  sessions: ReadonlyMap<DatabaseRole, pg.Client>,
): Promise<ReadonlyMap<DatabaseRole, readonly string[]>> {
  const open = new Map(Array.from(sessions.keys(), (role) => [role, new Set<string>()]))
  await writeGoldenLog(owner, async (name, statement) => {
    for (const [role, session] of sessions) {
      if (open.get(role)?.has(name)) continue
      const [outcome] = await attempt(session, [statement])
      if (isOpen(outcome, `${role} appends ${name}`)) open.get(role)?.add(name)
    }
  })
  return new Map(Array.from(open, ([role, names]) => [role, [...names].sort()]))
}

/** Tables that an append writes because of its guards. */
const GUARDS: Readonly<Record<string, string>> = { idempotency_keys: 'idempotency', wallet_holds: 'releases' }

/** Without rows: only whether the append may name the table counts. */
function appendOfRows(table: string): string {
  const guard = GUARDS[table]
  if (guard !== undefined) return `SELECT append_commits('{"${guard}": []}', '[]', '{}')`
  return `SELECT append_commits('{}', '[]', '{"${table}": []}')`
}

/** The codes beside success that show that a privilege was there: a missing table in a schema that may be used. */
const PASSED = new Set(['42P01'])

/** @throws Error when an attempt failed for another reason than a missing privilege */
function isOpen(outcome: Outcome | undefined, what: string): boolean {
  if (outcome === undefined) throw new Error(`no outcome: ${what}`)
  if (isRefused(outcome)) return false
  if (outcome.code === null || PASSED.has(outcome.code)) return true
  throw new Error(`${what}: neither done nor refused, but ${outcome.code} ${outcome.message}`)
}

async function openNames(
  session: pg.Client,
  names: readonly string[],
  statementOf: (name: string) => string,
): Promise<readonly string[]> {
  const outcomes = await attempt(session, names.map(statementOf))
  return names.filter((name, n) => isOpen(outcomes[n], `${session.user}: ${statementOf(name)}`))
}

async function openModes(
  session: pg.Client,
  objects: readonly { readonly name: string }[],
  modes: Readonly<Record<string, (name: string) => string>>,
): Promise<Readonly<Record<string, string>>> {
  const open = new Map<string, string[]>()
  for (const [mode, statementOf] of Object.entries(modes)) {
    const names = objects.map(({ name }) => name)
    for (const name of await openNames(session, names, statementOf)) open.set(name, [...(open.get(name) ?? []), mode])
  }
  return Object.fromEntries([...open].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, all]) => [name, all.join(', ')]))
}

/** Called without arguments that mean anything: only whether the call is refused counts, and the catalogue agrees. */
async function openFunctions(owner: Pool, session: pg.Client, functions: readonly FunctionObject[]) {
  const { rows } = await owner.query<{ oid: number; may: boolean }>(
    `SELECT p.oid::integer AS oid, has_function_privilege($1, p.oid, 'EXECUTE')
            AND has_schema_privilege($1, p.pronamespace, 'USAGE') AS may FROM pg_proc p WHERE p.oid = ANY ($2)`,
    [session.user, functions.map(({ oid }) => oid)],
  )
  const may = new Set(rows.flatMap((row) => (row.may ? [row.oid] : [])))
  const outcomes = await attempt(session, functions.map(callOf))
  functions.forEach(({ oid, name }, n) => {
    const outcome = outcomes[n]
    // A function that is called may itself refuse what the session asks for.
    const isDenied = /^permission denied for (function|procedure|aggregate|schema)/.test(outcome?.message ?? '')
    if (outcome === undefined || isDenied === may.has(oid))
      throw new Error(`${session.user} calls ${name}: the catalogue and the call disagree: ${outcome?.message}`)
  })
  return collapsed(
    functions.flatMap(({ oid, name }) => (may.has(oid) ? [name] : [])),
    functions,
  )
}

/** A schema other than that of Bursar whose functions are all open is one item. */
function collapsed(open: readonly string[], all: readonly FunctionObject[]): readonly string[] {
  const schemaOf = (name: string) => name.slice(0, name.indexOf('.'))
  const count = (names: readonly string[], schema: string) => names.filter((name) => schemaOf(name) === schema).length
  const names = all.map(({ name }) => name)
  const isWhole = (schema: string) => schema !== 'public' && count(open, schema) === count(names, schema)
  return [...new Set(open.map((name) => (isWhole(schemaOf(name)) ? `${schemaOf(name)}.*` : name)))]
}

/** Arguments are columns: PostgreSQL would not call a strict function with a constant NULL. */
function callOf({ call, arguments: types, isProcedure }: FunctionObject): string {
  if (isProcedure) return `CALL ${call}(${types.map((type) => `NULL::${type}`).join(', ')})`
  const columns = types.map((type, n) => `NULL::${type} AS a${n}`)
  const names = types.map((_, n) => `x.a${n}`)
  return `SELECT ${call}(${names.join(', ')}) FROM (SELECT ${columns.join(', ')} OFFSET 0) AS x`
}

async function openGuarded(owner: Pool, user: string, { guarded }: DatabaseObjects): Promise<readonly string[]> {
  const { rows } = await owner.query<{ oid: number }>(
    `SELECT x.oid FROM unnest($2::integer[], $3::text[]) AS x(oid, kind)
      WHERE CASE x.kind WHEN 'relation' THEN has_table_privilege($1, x.oid::oid, 'SELECT')
                        ELSE has_function_privilege($1, x.oid::oid, 'EXECUTE') END`,
    [user, guarded.map(({ oid }) => oid), guarded.map(({ kind }) => kind)],
  )
  const open = new Set(rows.map(({ oid }) => oid))
  return guarded.flatMap(({ oid, name }) => (open.has(oid) ? [name] : []))
}
