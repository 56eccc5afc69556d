/**
 * Every database login tries every event type, column, function, sequence and schema of a real PostgreSQL, and what
 * PostgreSQL lets anybody do. What it can do is what the expected table says, and SECURITY.md says the same.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { STREAMS } from '../../src/declarations.ts'
import { roleUrls } from '../support/database-login.ts'
import { openSession } from '../support/door-attempts.ts'
import { findObjects } from '../support/door-objects.ts'
import { tableDoors } from '../support/door-tables.ts'
import { findDoors } from '../support/doors.ts'
import { doorsTable, withDoors } from '../support/doors-page.ts'
import { withDatabase } from '../support/postgres.ts'
import { makeProcessLogins } from '../support/process-logins.ts'

const EXPECTED = JSON.parse(readFileSync(new URL('../golden/database-doors/doors.json', import.meta.url), 'utf8'))
const PAGE = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8')
const ADVICE = 'if the change is meant, run npm run database-doors and read what it changed'

t.test('each login does what its line says and nothing else, and every object has its line', async (t) => {
  const { pool, url } = await withDatabase(t)
  const logins = await makeProcessLogins(pool, url)
  t.teardown(logins.drop)
  const { tried, logins: found } = await findDoors(pool, logins.urlOf)
  for (const [kind, objects] of Object.entries(tried)) t.strictSame(objects, EXPECTED.tried[kind], `${kind}: ${ADVICE}`)
  t.strictSame(Object.keys(EXPECTED.tried), Object.keys(tried))
  for (const [login, doors] of Object.entries(found)) t.strictSame(doors, EXPECTED.logins[login], `${login}: ${ADVICE}`)
  t.strictSame(Object.keys(EXPECTED.logins), Object.keys(found))
  for (const role of DATABASE_ROLES) {
    const declared = Object.entries(STREAMS).flatMap(([category, { events }]) =>
      Object.keys(events).flatMap((type) => (events[type]?.includes(role) ? [`${category}:${type}`] : [])),
    )
    t.strictSame(found[role].appends, declared.sort(), `${role} can append what its declarations say, valid as it is`)
  }
})

t.test('a door that somebody opens is found: a column, a row to delete, and a new table in any schema', async (t) => {
  const { pool, url } = await withDatabase(t)
  const urlOf = await roleUrls(t, url)
  const session = await openSession(urlOf('party'))
  t.teardown(() => session.end())
  await pool.query(`GRANT UPDATE (label) ON wallets TO bursar_party; GRANT DELETE ON prices TO bursar_party;
    CREATE TABLE public.left_open (secret text); CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.hidden (secret text)`)
  const objects = await findObjects(pool)
  const { 'public.wallets': wallets, 'public.prices': prices } = await tableDoors(pool, session, objects.tables)
  t.strictSame([wallets, prices], ['select, update (label)', 'delete'])
  const names = objects.tables.map(({ name }) => name)
  t.ok(names.includes('public.left_open') && names.includes('elsewhere.hidden'))
  t.notOk(Object.keys(EXPECTED.tried.tables).includes('public.left_open'))
})

t.test('SECURITY.md says what each login can do', (t) => {
  t.equal(withDoors(PAGE, doorsTable(EXPECTED)), PAGE, ADVICE)
  t.end()
})
