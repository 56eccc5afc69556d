/** The operations page is correct: its commands, findings and settings exist. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { SETTINGS } from '../../src/compose/load-config.ts'
import { CATALOGUE } from '../../src/declarations.ts'
import { runCommandLine } from '../support/cli.ts'

const page = readFileSync('docs/operations.md', 'utf8')
const commands = await bursarCommands({})

t.test('every command of the page is a command, and none of them is left out', async (t) => {
  const named = new Set([...page.matchAll(/npm run bursar -- ([a-z]+(?:-[a-z]+)*)/g)].map(([, name]) => name ?? ''))
  const names = commands.map(({ name }) => name)
  // The other commands have pages of their own.
  t.strictSame([...named].toSorted(), names.slice(0, names.indexOf('accept-reorg') + 1).toSorted())
  for (const name of named) t.equal((await runCommandLine(commands, `${name} --help`)).code, 0, name)
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  for (const [, script] of page.matchAll(/npm run ([a-z]+)/g)) t.ok(scripts[script ?? ''], `${script} is a script`)
})

t.test('every finding and setting that the page names is one', async (t) => {
  const findings = [...page.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, kind]) => kind ?? '')
  t.ok(findings.length > 5)
  t.strictSame(
    findings.filter((kind) => !(kind in CATALOGUE.findings)),
    [],
  )
  const settings = [...page.matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, name]) => name ?? '')
  t.strictSame(
    settings.filter((name) => name !== 'NO_COLOR' && !SETTINGS.some((setting) => setting.name === name)),
    [],
  )
})

t.test('the help of stuck explains each finding', async (t) => {
  const { out } = await runCommandLine(commands, 'stuck --help')
  for (const [kind, meaning] of Object.entries(CATALOGUE.findings)) t.match(out, new RegExp(`${kind} +${meaning}`))
})
