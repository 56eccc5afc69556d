/** The database users of the sandbox: one for each process, whose password is in the data directory, mode 0600. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DatabaseLogin, loginNameOf, loginOf } from '../compose/database-roles/logins.ts'

export type DatabaseUsers = {
  readonly logins: readonly DatabaseLogin[]
  /** The database URL of a process, by its name in the process list. */
  readonly urlOf: (processName: string) => string
  /** For the sandbox itself: it requests wallets like the API, and issues keys like an operator. */
  readonly ownUrl: string
}

const OWN_USER = 'bursar_sandbox_login'

/**
 * @param directory of the database
 * @param ownerUrl URL with the owner, host and database
 * @param processes their names in the process list
 */
export async function planDatabaseUsers(
  directory: string,
  ownerUrl: string,
  processes: readonly string[],
): Promise<DatabaseUsers> {
  const file = join(directory, 'users.json')
  const passwords: Record<string, string> = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'))
  const passwordOf = (name: string) => {
    const password = passwords[name] ?? randomBytes(24).toString('hex')
    passwords[name] = password
    return password
  }
  const byProcess = new Map(
    processes.map((name) => [name, loginOf({ name: loginNameOf(name), password: passwordOf(name) })]),
  )
  const own: DatabaseLogin = { user: OWN_USER, password: passwordOf('sandbox'), roles: ['api', 'operator'] }
  await writeFile(file, `${JSON.stringify(passwords, null, 2)}\n`, { mode: 0o600 })
  return {
    logins: [...byProcess.values(), own],
    urlOf(processName) {
      const login = byProcess.get(processName)
      if (login === undefined) throw new Error(`the sandbox has no database user for ${processName}`)
      return asUser(ownerUrl, login)
    },
    ownUrl: asUser(ownerUrl, own),
  }
}

function asUser(ownerUrl: string, { user, password }: DatabaseLogin): string {
  const url = new URL(ownerUrl)
  url.username = user
  url.password = password
  return url.href
}
