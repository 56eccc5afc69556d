import t from 'tap'
import { failures, slowest, tapCounts, testFiles } from '../../scripts/test-report.mjs'
import { matchExactly } from '../support/match-exactly.ts'

const LOG = `TAP version 14
1..2
# Subtest: test/unit/a.test.ts
    # Subtest: outer
        ok 1 - should be equal
        not ok 2 - one is two
          ---
          diff: |
            -2
            +1
          source: |
            t.equal(1, 2)
          ...
        1..2
    not ok 1 - outer # time=64.1ms
    ok 2 - no server here # SKIP no server
    1..2
    # time=105.3ms
not ok 1 - test/unit/a.test.ts # time=105.3ms

# Subtest: dist/test/unit/b.test.js
    ok 1 - should match
    1..1
    # time=2000.5ms
ok 2 - dist/test/unit/b.test.js # time=2000.5ms

# No coverage generated
# { total: 4, pass: 2, fail: 1, skip: 1 }
# time=2110.8ms
`

t.test('the counts of a test run are those of its closing line, and no closing line means no counts', (t) => {
  t.strictSame(tapCounts(LOG), { total: 4, pass: 2, fail: 1, skip: 1, todo: 0 })
  t.equal(tapCounts('TAP version 14\n    # { total: 9 }\nBail out!\n'), undefined)
  t.end()
})

t.test('each file has its time, under the name of its source', (t) => {
  t.strictSame(testFiles(LOG), [
    { name: 'test/unit/a.test.ts', ok: false, ms: 105.3 },
    { name: 'test/unit/b.test.ts', ok: true, ms: 2000.5 },
  ])
  t.end()
})

t.test('the slowest file is first, with its recorded processor time; the last line counts all', (t) => {
  t.strictSame(slowest(testFiles(LOG), 'test/unit/b.test.ts 1.25\n').slice(1), [
    '     2 s      1 s  test/unit/b.test.ts',
    '     0 s      ? s  test/unit/a.test.ts',
    '     2 s      1 s  all 2 files',
  ])
  t.end()
})

t.test('a failed assertion is named with its file, titles and difference; a skipped one is no failure', (t) => {
  t.strictSame(failures(LOG), [{ name: 'test/unit/a.test.ts > outer > one is two', diagnosis: 'diff: -2\n+1' }])
  t.end()
})

t.test('a file that tap timed out is reported, though none of its assertions failed', (t) => {
  const gaveUp =
    'TAP version 14\n1..1\n# Subtest: test/unit/c.test.ts\n    ok 1 - fine\n    not ok 2 - timeout!\n      ---\n      expired: test/unit/c.test.ts\n      ...\n    1..2\nnot ok 1 - test/unit/c.test.ts # time=600000ms\n'
  matchExactly(t, failures(gaveUp), [{ name: /c\.test\.ts > timeout!/, diagnosis: 'expired: test/unit/c.test.ts' }])
  t.equal(tapCounts(gaveUp), undefined)
  t.end()
})
