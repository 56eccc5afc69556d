/** docs/database-roles.md answers for every table what depends on it without proof. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { TABLES } from '../../src/declarations.ts'

t.test('every table has a line that says what depends on it', async (t) => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/database-roles.md', import.meta.url)), 'utf8')
  const section = page.split('## What depends on each table')[1]?.split('\n## ')[0] ?? ''
  const named = [...section.matchAll(/^\| ([^|]+)/gm)].flatMap(
    ([, cell = '']) => cell.match(/(?<=`)[a-z_]+(?=`)/g) ?? [],
  )
  t.strictSame(named.toSorted(), Object.keys(TABLES).toSorted())
})
