/**
 * The database users of processes, each a member of one role. When an administrator creates the users (a managed
 * database), none are created here: `GRANT bursar_api TO <user>` has the same effect.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type Pool } from 'pg'
import type { LoginName } from '../../config/database.ts'
import { type DatabaseRole, groupRole } from '../../core/database-roles.ts'
import { Conflict } from '../../core/errors.ts'
import { PROCESS_LIST, processNamed } from '../../core/processes.ts'

export type DatabaseLogin = {
  readonly user: string
  /** ASCII only. */
  readonly password: string
  readonly roles: readonly DatabaseRole[]
  /** Under which it alone writes heartbeats, where several users have its role. */
  readonly process?: string
}

/** PostgreSQL's own number of iterations, supported by every client (RFC 5802, RFC 7677). */
const ITERATIONS = 4_096
const SALT_BYTES = 16
const INSUFFICIENT_PRIVILEGE = '42501'

/** The name of a user: `bursar_api_login`, `bursar_party_1_login`. */
function loginUser(name: LoginName): string {
  return `bursar_${name.replace('-', '_')}_login`
}

export function loginOf({ name, password }: { readonly name: LoginName; readonly password: string }): DatabaseLogin {
  const user = loginUser(name)
  const number = /-(\d+)$/.exec(name)?.[1]
  if (number === undefined) return { user, password, roles: [name as DatabaseRole] }
  const role = name.slice(0, -number.length - 1) as DatabaseRole
  const kind = PROCESS_LIST.find(({ databaseRole }) => databaseRole === role)?.kind ?? role
  return { user, password, roles: [role], process: `${kind}-${number}` }
}

/**
 * The name that a process has in DATABASE_LOGINS.
 *
 * @throws Error for a name that no process has
 */
export function loginNameOf(processName: string): LoginName {
  const declared = processNamed(processName)
  if (declared === undefined) throw new Error(`no process has the name ${processName}`)
  return processName.replace(declared.kind, declared.databaseRole) as LoginName
}

/**
 * Creates users, or sets the password and roles of existing ones. The roles must exist: see `applyDatabaseRoles`.
 *
 * @throws Conflict `roles_not_allowed`, `login_too_powerful`
 */
export async function makeLogins(pool: Pool, logins: readonly DatabaseLogin[]): Promise<void> {
  await bindProcesses(pool, logins)
  for (const login of logins) {
    await requireHarmless(pool, login.user)
    const user = escapeIdentifier(login.user)
    try {
      const { rowCount } = await pool.query('SELECT FROM pg_roles WHERE rolname = $1', [login.user])
      await pool.query(
        `${rowCount === 0 ? 'CREATE' : 'ALTER'} ROLE ${user} LOGIN PASSWORD ${escapeLiteral(verifierOf(login.password))}`,
      )
      for (const role of login.roles) await pool.query(`GRANT ${groupRole(role)} TO ${user}`)
    } catch (error) {
      if ((error as { readonly code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error
      throw new Conflict(
        'roles_not_allowed',
        `The database user of migrate cannot create ${login.user}: give it CREATEROLE and ADMIN OPTION on ` +
          `${login.roles.map(groupRole).join(', ')}, or leave DATABASE_LOGINS unset and create the users yourself.`,
      )
    }
  }
}

/** Other users are bound again by their next report. */
async function bindProcesses(pool: Pool, logins: readonly DatabaseLogin[]): Promise<void> {
  const bound = logins.flatMap(({ process, user }) => (process === undefined ? [] : [{ process, user }]))
  if (bound.length === 0) return
  await pool.query(
    `WITH others AS (DELETE FROM process_logins WHERE process <> ALL ($1))
     INSERT INTO process_logins SELECT process, login, true FROM unnest($1::text[], $2::text[]) AS made(process, login)
         ON CONFLICT (process) DO UPDATE SET login = excluded.login, is_made = true`,
    [bound.map(({ process }) => process), bound.map(({ user }) => user)],
  )
}

/** A user of that name may have existed before. */
async function requireHarmless(pool: Pool, user: string): Promise<void> {
  const { rowCount } = await pool.query(
    "SELECT FROM pg_class WHERE oid = 'events'::regclass AND pg_has_role(to_regrole(quote_ident($1)), relowner, 'MEMBER')",
    [user],
  )
  if (rowCount === 0) return
  throw new Conflict(
    'login_too_powerful',
    `The database user ${user} owns the tables or is a superuser, so it cannot be changed: rename it.`,
  )
}

/** What the server stores for a password: the password itself is neither sent nor logged. */
function verifierOf(password: string): string {
  const salt = randomBytes(SALT_BYTES)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyOf('Server Key').toString('base64')}`
}
