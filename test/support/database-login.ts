/** Database users with the roles of processes: what an attacker has who took over one of them. */
import { randomBytes } from 'node:crypto'
import pg, { type Pool } from 'pg'
import type { Test } from 'tap'
import { makeLogins } from '../../src/compose/database-roles/logins.ts'
import { DATABASE_ROLES, type DatabaseRole } from '../../src/core/database-roles.ts'

/** A connection pool of a new user with these roles, or with none. */
export async function loginAs(
  t: Test,
  { url, pool }: { readonly url: string; readonly pool: Pool },
  ...roles: readonly DatabaseRole[]
): Promise<Pool> {
  const { user, connectionString } = await makeUser(pool, url, roles)
  t.after(() => pool.query(`DROP ROLE ${user}`))
  return poolUntilEnd(t, { connectionString, max: 2 })
}

/** A pool that ends with the test. */
export function poolUntilEnd(t: Test, config: pg.PoolConfig): Pool {
  const pool = new pg.Pool(config)
  pool.on('error', () => undefined) // `end` does not wait for the server, which ends what is left with the database.
  t.after(() => pool.end())
  return pool
}

/** A user for each role, by its connection URL. */
export async function roleUrls(t: Test, url: string): Promise<(role: DatabaseRole) => string> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined) // A test may kill connections.
  const users = new Map<DatabaseRole, Awaited<ReturnType<typeof makeUser>>>()
  for (const role of DATABASE_ROLES) users.set(role, await makeUser(pool, url, [role]))
  t.after(async () => {
    const names = Array.from(users.values(), ({ user }) => user)
    await pool.query(`DROP ROLE ${names.join(', ')}`).catch(() => undefined) // The test may have stopped the server.
    await pool.end()
  })
  return (role) => users.get(role)?.connectionString ?? url
}

/** Users belong to the whole server, so each has a unique name. */
async function makeUser(pool: Pool, url: string, roles: readonly DatabaseRole[]) {
  const user = `test_${randomBytes(6).toString('hex')}`
  const password = randomBytes(16).toString('hex')
  await makeLogins(pool, [{ user, password, roles }])
  const own = new URL(url)
  Object.assign(own, { username: user, password })
  return { user, connectionString: own.href }
}
