/** The database users that `npm run migrate` makes from DATABASE_LOGINS, one for each process and two of the parties. */
import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { applyDatabaseRoles } from '../../src/compose/database-roles/apply-roles.ts'
import { loginOf, makeLogins } from '../../src/compose/database-roles/logins.ts'
import type { LoginName } from '../../src/config/database.ts'
import { DATABASE_ROLES, type DatabaseRole } from '../../src/core/database-roles.ts'

const NAMES: readonly LoginName[] = DATABASE_ROLES.flatMap((role): readonly LoginName[] =>
  role === 'party' ? ['party-1', 'party-2'] : [role],
)

export type ProcessLogins = {
  /** The connection URL of a role's process; of the parties that of the first. */
  readonly urlOf: (role: DatabaseRole | 'party-2') => string
  /** They belong to the whole server. */
  readonly drop: () => Promise<unknown>
}

/** @param owner of the tables, who may make roles */
export async function makeProcessLogins(owner: Pool, databaseUrl: string): Promise<ProcessLogins> {
  const password = randomBytes(16).toString('hex')
  const logins = NAMES.map((name) => ({ name, ...loginOf({ name, password }) }))
  await applyDatabaseRoles(owner) // Privileges on a whole database are not copied with its template.
  await makeLogins(owner, logins)
  return {
    urlOf(role) {
      const user = logins.find(({ name }) => name === (role === 'party' ? 'party-1' : role))?.user ?? ''
      const url = new URL(databaseUrl)
      Object.assign(url, { username: user, password })
      return url.href
    },
    drop: () => owner.query(`DROP ROLE ${logins.map(({ user }) => user).join(', ')}`),
  }
}
