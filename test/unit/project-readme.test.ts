/** The README and the settings page are correct: the settings are those of the schema, commands and files exist. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { SETTINGS } from '../../src/compose/load-config.ts'

const readme = readFileSync('README.md', 'utf8')

t.test('the table of settings is the one that the schema makes', async (t) => {
  const { settingsTable, withTable } = (await import('../../scripts/settings-table.mjs')) as {
    settingsTable: (settings: typeof SETTINGS) => string
    withTable: (page: string, table: string) => string
  }
  const page = readFileSync('docs/settings.md', 'utf8')
  t.equal(page, withTable(page, settingsTable(SETTINGS)), 'the table of settings is current: run npm run settings')
})

t.test('every npm command of the README is a script', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = [...readme.matchAll(/npm run ([a-z:-]+)/g)].map(([, name]) => name ?? '')
  t.ok(named.length > 4)
  for (const name of named) t.ok(scripts[name], name)
})

t.test('every file that the README links to is there', async (t) => {
  const linked = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path]) => path ?? '')
  t.ok(linked.length > 5)
  for (const path of linked) t.ok(existsSync(path), path)
})
