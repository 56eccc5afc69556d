// Checks the linter's own rules of this project: each is seen to fire on a planted violation, with the project's settings.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const text = (path: string) => readFileSync(at(path), 'utf8')

type Diagnostic = { readonly category: string; readonly location: { readonly start: { readonly line: number } } }

t.test('a list in a pattern of tap is refused in tests, at any depth, without a reason', async (t) => {
  const planted = [
    'export async function planted(t: Test, found: unknown): Promise<void> {',
    '  t.match(found, [1])',
    '  t.match(found, { items: [] }, "of a list")',
    '  t.hasStrict(found, { page: { items: [{ id: 1 }] } })',
    '  t.notMatch(found, ["secret"])',
    '  await t.rejects(Promise.reject(found), { items: [{ code: "late" }] })',
    '  // biome-ignore lint/plugin: more items may follow',
    '  t.match(found, [1])',
    '  matchExactly(t, found, [{ id: 1 }])',
    '  t.match(found, { id: 1, at: /[0-9]/, items: Array })',
    '  t.strictSame(found, [1])',
    '}',
  ].join('\n')
  const cwd = t.testdir({
    'biome.json': text('biome.json'),
    test: {
      support: { 'lists-match-exactly.grit': text('test/support/lists-match-exactly.grit') },
      unit: { 'planted.ts': `import type { Test } from 'tap'\n\n${planted}\n` },
    },
    src: { 'planted.ts': 'export const found = text.match("a", [1])\n' },
  })
  const biome = at('node_modules/@biomejs/biome/bin/biome')
  const { stdout, stderr } = spawnSync(process.execPath, [biome, 'lint', '--reporter=json', '.'], {
    cwd,
    encoding: 'utf8',
  })
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] }
  t.strictSame(
    diagnostics.map(({ category, location }) => [category, location.start.line]),
    [4, 5, 6, 7, 8].map((line) => ['plugin', line]),
    stderr,
  )
})
