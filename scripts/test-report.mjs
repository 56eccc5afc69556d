// Summarizes a long log: the slowest files, the failed assertions with their reasons, and `N passed, N failed`. Fails
// when tap did not finish, when a test failed, and when none ran.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'

const SLOWEST = 20

/**
 * @param {string} log output of `tap run` in a pipe
 * @returns {{ total: number, pass: number, fail: number, skip: number, todo: number } | undefined} tap's counts of
 *   assertions, or undefined when tap did not finish
 */
export function tapCounts(log) {
  const closing = log.split('\n').findLast((line) => /^# \{ total: \d+/.test(line))
  if (closing === undefined) return undefined
  /** @param {string} name */
  const count = (name) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(closing)?.[1] ?? 0)
  return { total: count('total'), pass: count('pass'), fail: count('fail'), skip: count('skip'), todo: count('todo') }
}

/**
 * @param {string} log output of `tap run` in a pipe
 * @returns {{ name: string, ok: boolean, ms: number }[]} the test files, in the order in which they ended
 */
export function testFiles(log) {
  /** @type {{ name: string, ok: boolean, ms: number }[]} */
  const files = []
  const parser = new Parser()
  parser.on('assert', ({ name, ok, time }) => files.push({ name, ok, ms: time ?? 0 }))
  parser.end(log)
  return files
}

/**
 * @param {string} log output of `tap run` in a pipe
 * @returns {{ name: string, diagnosis: string }[]} each failed assertion with its path from the file down, and tap's
 *   diagnosis: the difference, and where it was thrown
 */
export function failures(log) {
  return Parser.parse(log, { flat: true }).flatMap((event) => {
    if (event[0] !== 'assert' || event[1].ok || event[1].skip || event[1].todo) return []
    const { fullname, diag } = event[1]
    const { source, ...said } = diag ?? {}
    const diagnosis = Object.entries(said).map(([key, value]) => `${key}: ${text(value)}`)
    return [{ name: fullname, diagnosis: diagnosis.join('\n') }]
  })
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value.trimEnd() : JSON.stringify(value)
}

/** @param {string} log */
function print(log) {
  const slowest = testFiles(log).toSorted((a, b) => b.ms - a.ms)
  console.log('\n== slowest files')
  for (const { name, ms } of slowest.slice(0, SLOWEST)) console.log(`${(ms / 1000).toFixed(0).padStart(5)} s  ${name}`)
  const failed = failures(log)
  if (failed.length > 0) console.log('\n== failures')
  for (const { name, diagnosis } of failed) console.log(`\nnot ok: ${name}\n${diagnosis.replace(/^/gm, '    ')}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const log = readFileSync(process.argv[2] ?? 0, 'utf8')
  print(log)
  const counts = tapCounts(log)
  if (counts === undefined) console.error('\ntap printed no counts: the tests did not run to their end')
  else {
    if (counts.skip + counts.todo > 0) console.log(`\n${counts.skip} skipped, ${counts.todo} to do`)
    console.log(`\n${counts.pass} passed, ${counts.fail} failed`)
  }
  process.exitCode = counts !== undefined && counts.pass > 0 && counts.fail === 0 ? 0 : 1
}
