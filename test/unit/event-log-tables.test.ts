/** Every table is declared with its relation to the log. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import type { Table } from '../../src/core/registry.ts'
import { ALL_SCOPES } from '../../src/core/scopes.ts'
import { READ_MODEL_NAMES, SCOPES, STREAMS, TABLES } from '../../src/declarations.ts'
import type { ReadModelRow } from '../../src/event-log/aggregate.ts'
import type { Row } from '../../src/event-log/table-rows.ts'

const PAGE = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')

t.test(
  'a capability declares each table of the schema: it follows from the log, or its place beside the log is stated',
  (t) => {
    const tables = [...PAGE.matchAll(/^model (\w+) \{$/gm)].map(([, name]) => name ?? '')
    t.strictSame(
      tables.toSorted(),
      Object.keys(TABLES).toSorted(),
      'every table of the schema is declared by its capability',
    )
    t.strictSame(
      Object.values(STREAMS).flatMap(({ rows }) => Object.keys(rows).filter((table) => !Object.hasOwn(TABLES, table))),
      [],
      'streams name only declared tables',
    )
    t.strictSame(
      Object.values(STREAMS)
        .flatMap(({ readScope, readScopeOf = {} }) => [readScope, ...Object.values(readScopeOf)].flat())
        .filter((scope) => scope !== ALL_SCOPES && !SCOPES.some((known) => known === scope)),
      [],
      'streams name only declared scopes',
    )
    t.end()
  },
)

t.test('a row with a missing, misspelt or wrongly typed column does not compile', (t) => {
  const block = { chain_id: 1, number: 7, hash: '0x7', parent_hash: '0x6', timestamp: 7 }
  const rows: readonly ReadModelRow[] = [
    { table: 'chain_blocks', row: block },
    // @ts-expect-error: without its hash
    { table: 'chain_blocks', row: { chain_id: 1, number: 7, parent_hash: '0x6', timestamp: 7 } },
    // @ts-expect-error: misspelt
    { table: 'chain_blocks', row: { ...block, parenthash: '0x6' } },
    // @ts-expect-error: of another type
    { table: 'chain_blocks', row: { ...block, hash: 7 } },
  ]
  const narrowed: Row<'wallets', { readonly status: 'active' }>['status'] = 'active'
  // @ts-expect-error: not a column
  type Misspelt = Row<'wallets', { readonly stauts: 'active' }>
  const misspelt: Misspelt | null = null
  t.strictSame([rows.length, narrowed, misspelt], [4, 'active', null])
  t.end()
})

t.test('every event of every stream declares the database roles that append it', (t) => {
  const said = Object.entries(STREAMS).map(([category, { events }]) => [category, Object.keys(events).toSorted()])
  const known = ALL_AGGREGATES.map(({ category, schemas }) => [category, Object.keys(schemas).toSorted()])
  t.strictSame(said.toSorted(), known.toSorted(), 'every event is declared by its capability')
  t.ok(
    known.every(([category]) => !category?.includes('-')),
    'no category contains a hyphen: the database ends it at the first one',
  )
  t.end()
})

t.test(
  'only signers read sealed keys, parties read only the log, and no role is granted the parts of an append',
  (t) => {
    const rolesOn = (table: Table) => Object.keys(TABLES[table].grants)
    t.strictSame(rolesOn('sealed_keys'), ['signer'])
    t.strictSame(rolesOn('role_rights'), [])
    t.strictSame(TABLES.events.grants, Object.fromEntries(DATABASE_ROLES.map((role) => [role, 'SELECT'])))
    for (const table of READ_MODEL_NAMES)
      t.ok(
        Object.values(TABLES[table].grants).every((privileges) => privileges === 'SELECT'),
        `roles may only read ${table}: it is written through append`,
      )
    t.end()
  },
)
