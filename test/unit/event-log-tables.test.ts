/** Every table is known for what it is to the log. */
import { readFileSync } from 'node:fs'
import t from 'tap'
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
  t.end()
})
