/**
 * The settings of the database: where it is, which users processes connect as, and how a party's connection is
 * protected.
 */
import { isIP } from 'node:net'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import pg from 'pg'
import { DATABASE_ROLES, type DatabaseRole } from '../core/database-roles.ts'
import { list, text, word } from './schema-kinds.ts'

/** The database users that `npm run migrate` can create, besides one for each party: `party-1`. */
const LOGINS = DATABASE_ROLES.filter((role) => role !== 'party')
export type LoginName = Exclude<DatabaseRole, 'party'> | `party-${number}`

export const DATABASE_SETTINGS = {
  DATABASE_URL: text('^postgres(ql)?://.+', 'must be a URL such as postgres://user:password@host:5432/bursar', {
    description:
      'Connection URL of PostgreSQL 15 or later. If it is not set, `npm start` runs the sandbox with its own database.',
    'x-secret': true,
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    minimum: 2,
    maximum: 200,
    default: 10,
    description: 'Maximum number of database connections per process.',
  }),
  DATABASE_ROLES: word(['required', 'warn'], {
    default: 'warn',
    description:
      'What a process does if its database user owns the tables or is a superuser: `required`: it does not start; `warn`: it logs an error. ' +
      'An mpc party never starts with such a user.',
  }),
  DATABASE_LOGINS: list(
    `^(${LOGINS.join('|')}|party-([1-9]|1[0-9]|20))=[A-Za-z0-9._~-]{16,128}$`,
    'must be a comma-separated list of name=password, where a password has 16 to 128 letters, digits or any of . _ ~ -',
    {
      description:
        `\`npm run migrate\` only: database users to create, with their passwords. Names are \`${LOGINS.join('`, `')}\`, ` +
        '`party-1` and so on. The users are named `bursar_<name>_login`.',
      'x-secret': true,
    },
  ),
  DATABASE_TLS: word(['verify', 'off'], {
    default: 'verify',
    description:
      'Mpc parties only: `off` allows a `DATABASE_URL` without verified TLS. Use it only on a private network.',
  }),
}

type DatabaseInput = Static<TObject<typeof DATABASE_SETTINGS>>

export type DatabaseConfig = {
  /** Whether a process refuses to start as the owner of the tables. */
  readonly rolesRequired: boolean
  readonly logins: readonly { readonly name: LoginName; readonly password: string }[]
  /** False for a party that reads the log over an unprotected connection. */
  readonly tlsVerified: boolean
}

export function databaseConfig(input: DatabaseInput, isParty: boolean): DatabaseConfig {
  return {
    rolesRequired: isParty || input.DATABASE_ROLES === 'required',
    logins: (input.DATABASE_LOGINS ?? []).map((entry) => {
      const [name = '', password = ''] = entry.split('=')
      return { name: name as LoginName, password }
    }),
    tlsVerified: !isParty || input.DATABASE_URL === undefined || tlsProblem(input.DATABASE_URL) === null,
  }
}

/**
 * Settings that contradict each other. A party signs what it reads in the log, so nobody may be able to impersonate the
 * database.
 */
export function databaseProblems(input: Partial<DatabaseInput>, isParty: boolean): string[] {
  const problems: string[] = []
  const names = (input.DATABASE_LOGINS ?? []).map((entry) => entry.split('=')[0])
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) problems.push(`DATABASE_LOGINS must name each user once, but ${twice} is named twice`)
  if (!isParty || input.DATABASE_URL === undefined || input.DATABASE_TLS === 'off') return problems
  const problem = tlsProblem(input.DATABASE_URL)
  return problem === null ? problems : [...problems, `DATABASE_URL ${problem}`]
}

/** Why the connection of a party is not safe; null for verified TLS, for loopback and for a Unix socket. */
function tlsProblem(url: string): string | null {
  // Parsed as the driver does it: URL parameters and the driver's own variables can name another host.
  let client: { readonly host: string; readonly ssl: unknown }
  let modes: readonly string[]
  try {
    client = new pg.Client({ connectionString: url })
    modes = new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll('sslmode')
  } catch {
    return 'must be a URL whose certificate files are readable'
  }
  const { host, ssl } = client
  if (host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)) return null
  if (modes.length !== 1 || modes[0] !== 'verify-full' || !verifies(ssl))
    return 'must have sslmode=verify-full for an mpc party, unless its host is loopback or a Unix socket (DATABASE_TLS=off turns this check off)'
  // For an IP address the driver compares the certificate with the name "localhost".
  if (isIP(host) !== 0)
    return 'must contain the host name of the server certificate for an mpc party, not an IP address'
  return null
}

function verifies(ssl: unknown): boolean {
  return typeof ssl === 'object' && ssl !== null && !('rejectUnauthorized' in ssl) && !('checkServerIdentity' in ssl)
}
