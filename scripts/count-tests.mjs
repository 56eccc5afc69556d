// Prints `N passed, N failed` from the closing line of a TAP log that tap wrote, and fails when there is none, when a
// test failed, or when none ran: silence is not success.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * @param {string} log what `tap run` printed to a pipe
 * @returns {{ total: number, pass: number, fail: number, skip: number, todo: number } | undefined} the counts of
 *   assertions that tap made itself, or undefined when it never came to its closing line
 */
export function tapCounts(log) {
  const closing = log.split('\n').findLast((line) => /^# \{ total: \d+/.test(line))
  if (closing === undefined) return undefined
  /** @param {string} name */
  const count = (name) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(closing)?.[1] ?? 0)
  return { total: count('total'), pass: count('pass'), fail: count('fail'), skip: count('skip'), todo: count('todo') }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const counts = tapCounts(readFileSync(process.argv[2] ?? 0, 'utf8'))
  if (counts === undefined) console.error('tap printed no counts: the tests did not run to their end')
  else {
    if (counts.skip + counts.todo > 0) console.log(`${counts.skip} skipped, ${counts.todo} to do`)
    console.log(`${counts.pass} passed, ${counts.fail} failed`)
  }
  process.exitCode = counts !== undefined && counts.pass > 0 && counts.fail === 0 ? 0 : 1
}
