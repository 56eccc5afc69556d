import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { digests } from '../../scripts/long-tests.mjs'

t.test(
  'a long test runs again when a module that it imports changed, and after any change if it starts programs',
  async (t) => {
    const root = t.testdir({
      'package-lock.json': '{}',
      dist: { 'program.js': '1\n' },
      docs: { 'page.md': 'One.\n', 'other.md': 'Two.\n' },
      src: { 'imported.ts': 'export const one = 1\n', 'other.ts': 'export const two = 2\n' },
      test: {
        // In two parts: the bundle of this test has its own place.
        faults: {
          'starts.test.ts': `new URL('../../docs/page.md', import${'.meta'}.url)\nnew URL('../../dist/program.js', import${'.meta'}.url)\n`,
        },
        long: { 'imports.test.ts': `import { one } from '../../src/imported.ts'\nconsole.log(one)\n` },
      },
    })
    const changedBy = async (path: string, text: string) => {
      const before = await digests(root)
      writeFileSync(join(root, path), text)
      const after = await digests(root)
      return [...after].filter(([file, digest]) => before.get(file) !== digest).map(([file]) => file)
    }
    t.strictSame([...(await digests(root)).keys()], ['test/faults/starts.test.ts', 'test/long/imports.test.ts'])
    t.strictSame(await changedBy('src/imported.ts', 'export const one = 3\n'), [
      'test/faults/starts.test.ts',
      'test/long/imports.test.ts',
    ])
    t.strictSame(await changedBy('src/other.ts', 'export const two = 3\n'), ['test/faults/starts.test.ts'])
    t.strictSame(await changedBy('docs/page.md', 'Three.\n'), ['test/faults/starts.test.ts'])
    t.strictSame(await changedBy('docs/other.md', 'Three.\n'), [])
    t.strictSame(await changedBy('dist/program.js', '2\n'), [], 'a change of a built file runs no test again')
  },
)
