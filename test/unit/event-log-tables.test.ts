/** Every table is known for what it is to the log. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/aggregates.ts'
import { EVENT_WRITERS } from '../../src/compose/database-roles/event-writers.ts'
import { DATABASE_ROLES } from '../../src/compose/database-roles/roles.ts'
import { TABLE_GRANTS } from '../../src/compose/database-roles/table-grants.ts'
import { BESIDE_THE_LOG, READ_MODELS } from '../../src/event-log/tables.ts'

const PAGE = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')

t.test('a table of the schema either follows from the log or is said to stand beside it', (t) => {
  const tables = [...PAGE.matchAll(/^model (\w+) \{$/gm)].map(([, name]) => name ?? '')
  const known = ['events', ...Object.keys(READ_MODELS), ...Object.keys(BESIDE_THE_LOG)]
  t.strictSame(
    tables.toSorted(),
    known.toSorted(),
    'a new table joins READ_MODELS or BESIDE_THE_LOG in src/event-log/tables.ts; a read model follows from events alone',
  )
  t.equal(new Set(known).size, known.length, 'no table is both')
  t.strictSame(
    Object.keys(TABLE_GRANTS).toSorted(),
    known.toSorted(),
    'and says which database roles read and write it',
  )
  t.end()
})

t.test('every event of every stream says which database roles append it', (t) => {
  const said = Object.entries(EVENT_WRITERS).map(([category, { events }]) => [category, Object.keys(events).toSorted()])
  const known = ALL_AGGREGATES.map(({ category, schemas }) => [category, Object.keys(schemas).toSorted()])
  t.strictSame(said.toSorted(), known.toSorted(), 'an event joins EVENT_WRITERS in src/compose/database-roles/')
  t.ok(
    known.every(([category]) => !category?.includes('-')),
    'the database takes the category of a stream to end at its first hyphen',
  )
  t.end()
})

t.test("only signers see sealed keys, only the log is a party's, and nobody is granted what makes an append", (t) => {
  const rolesOn = (table: keyof typeof TABLE_GRANTS) => Object.keys(TABLE_GRANTS[table])
  t.strictSame(rolesOn('sealed_keys'), ['signer'])
  t.strictSame(rolesOn('role_rights'), [])
  t.strictSame(TABLE_GRANTS.events, Object.fromEntries(DATABASE_ROLES.map((role) => [role, 'SELECT'])))
  for (const table of Object.keys(READ_MODELS) as (keyof typeof READ_MODELS)[])
    t.ok(
      Object.values(TABLE_GRANTS[table]).every((privileges) => privileges === 'SELECT'),
      `${table} is written by appends alone`,
    )
  t.end()
})
