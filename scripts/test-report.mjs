// Summarizes a long log: the slowest files with their processor time (where TEST_TIMES recorded it), the failed
// assertions with their reasons, and `N passed, N failed`. Fails when tap did not finish, when a test failed, and when
// none ran.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'

const SLOWEST = 10

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
  parser.on('assert', ({ name, ok, time }) => files.push({ name: sourceOf(name), ok, ms: time ?? 0 }))
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
    return [{ name: sourceOf(fullname), diagnosis: diagnosis.join('\n') }]
  })
}

/**
 * @param {string} name that starts with the path of a bundle: see scripts/bundle-tests.mjs
 * @returns {string} the same with the path of the source
 */
function sourceOf(name) {
  return name.replace(/^dist\/(test\/\S+\.test)\.js/, '$1.ts')
}

/** @param {unknown} value */
function text(value) {
  return typeof value === 'string' ? value.trimEnd() : JSON.stringify(value)
}

/**
 * @param {{ name: string, ms: number }[]} files
 * @param {string} times lines that test/support/cpu-times.mjs wrote: a file, and its seconds of processor time
 * @returns {string[]} the slowest first, and a line for all
 */
export function slowest(files, times) {
  const cpu = new Map(times.split('\n').map((line) => /** @type {[string, string]} */ (line.split(' '))))
  /** @param {number} ms @param {number | string | undefined} seconds @param {string} name */
  const line = (ms, seconds, name) =>
    `${(ms / 1000).toFixed(0).padStart(6)} s ${(seconds === undefined ? '?' : Number(seconds).toFixed(0)).padStart(6)} s  ${name}`
  const total = files.reduce((sum, { ms }) => sum + ms, 0)
  const totalCpu = [...cpu.values()].reduce((sum, seconds = '0') => sum + Number(seconds), 0)
  const first = files.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  return [
    '    wall      cpu',
    ...first.map(({ name, ms }) => line(ms, cpu.get(name), name)),
    line(total, totalCpu, `all ${files.length} files`),
  ]
}

/**
 * Prints the summary of a run.
 *
 * @param {string} log output of `tap run` in a pipe
 * @param {string} [times] lines that test/support/cpu-times.mjs wrote
 * @returns {boolean} whether the run ended, at least one assertion passed and none failed
 */
export function report(log, times = '') {
  console.log('\n== slowest files')
  for (const line of slowest(testFiles(log), times)) console.log(line)
  const failed = failures(log)
  if (failed.length > 0) console.log('\n== failures')
  for (const { name, diagnosis } of failed) console.log(`\nnot ok: ${name}\n${diagnosis.replace(/^/gm, '    ')}`)
  const counts = tapCounts(log)
  if (counts === undefined) console.error('\ntap printed no counts: the test run did not finish')
  else {
    if (counts.skip + counts.todo > 0) console.log(`\n${counts.skip} skipped, ${counts.todo} todo`)
    console.log(`\n${counts.pass} passed, ${counts.fail} failed`)
  }
  return counts !== undefined && counts.pass > 0 && counts.fail === 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , log, times] = process.argv
  const passed = report(readFileSync(log ?? 0, 'utf8'), times === undefined ? '' : readFileSync(times, 'utf8'))
  process.exitCode = passed ? 0 : 1
}
