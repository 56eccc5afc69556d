// Runs the long tests, in test/faults and test/long: all, those that are named, or with --changed those whose inputs differ
// from the inputs with which they last passed. test/long-runs.json records these, one SHA-256 for each file.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build as esbuild } from 'esbuild'
import { bundleOptions } from './bundle-tests.mjs'
import { filesBelow, fingerprint } from './fingerprint.mjs'
import { report, testFiles } from './test-report.mjs'

const FOLDERS = ['test/faults', 'test/long']
const RECORD = 'test/long-runs.json'
/** Of one file: ten thousand simulated histories take half an hour on a busy machine. One that hangs leaves time for a report. */
const TIMEOUT_S = 2_700
/** What a test depends on that starts programs or reads files: all that is built, and the files of tests. */
const EVERYTHING = ['src', 'workers', 'prisma', 'scripts', 'test/golden', 'test/support', 'package-lock.json']
/** Made from other inputs, or only runs the tests. */
const NO_INPUTS =
  /^dist\/|^src\/generated\/|^src\/keys\/mpc\/engine\/target\/|^scripts\/(bundle-tests|long-tests|test-report)\.mjs$/
/** A module that has one of these may start programs or read files, which its imports do not show. */
const LOOKS_OUTSIDE = /import\.meta\.url|node:child_process/
/** A file that a module reads by its place. */
const READ_FILE = /new URL\('([^']+\.\w+)', import\.meta\.url\)/g

/**
 * @param {string} root the project's folder
 * @returns {Promise<Map<string, string>>} each long test file with a digest of all that its result depends on
 */
export async function digests(root) {
  const files = filesBelow(root, FOLDERS).filter((path) => path.endsWith('.test.ts'))
  const { metafile } = await esbuild({
    ...bundleOptions(root),
    entryPoints: files,
    outdir: join(root, 'dist'),
    packages: 'external',
    metafile: true,
    write: false,
  })
  const digestOf = (/** @type {readonly string[]} */ inputs, salt = '') => {
    const files = filesBelow(root, inputs).filter((path) => !NO_INPUTS.test(path))
    return fingerprint(root, files, salt)
  }
  const everything = digestOf(EVERYTHING)
  const packages = digestOf(['package-lock.json'])
  return new Map(
    files.map((file) => {
      const own = closure(metafile.inputs, file)
      const texts = [...own].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
      const isOpen = texts.some(({ text }) => LOOKS_OUTSIDE.test(text))
      const inputs = new Set([...own, ...texts.flatMap(filesRead)])
      return [file, digestOf([...inputs], isOpen ? everything : packages)]
    }),
  )
}

/**
 * @param {import('esbuild').Metafile['inputs']} modules
 * @param {string} entry
 * @returns {Set<string>} the modules of the project that `entry` imports, directly or not, and itself
 */
function closure(modules, entry) {
  const found = new Set([entry])
  for (const path of found)
    for (const { path: imported, external } of modules[path]?.imports ?? []) if (!external) found.add(imported)
  return found
}

/**
 * @param {{ readonly path: string, readonly text: string }} module
 * @returns {string[]} the files that it reads by their place, which may not exist
 */
function filesRead({ path, text }) {
  return [...text.matchAll(READ_FILE)].map(([, place = '']) => join(dirname(path), place))
}

/**
 * @param {string} root
 * @returns {Record<string, string>}
 */
function readRecord(root) {
  return JSON.parse(readFileSync(join(root, RECORD), 'utf8'))
}

/**
 * @param {string} root
 * @param {readonly string[]} files
 * @returns {string} tap's output
 */
function run(root, files) {
  const directory = mkdtempSync(join(tmpdir(), 'bursar-long-'))
  const output = join(directory, 'output.tap')
  const built = files.map((file) => join('dist', file.replace(/\.ts$/, '.js')))
  // tap shows its progress in a terminal; elsewhere it would print the whole output twice.
  const shown = process.stdout.isTTY ? 'inherit' : 'ignore'
  spawnSync('npx', ['tap', 'run', `--timeout=${TIMEOUT_S}`, `--output-file=${output}`, ...built], {
    cwd: root,
    stdio: ['inherit', shown, 'inherit'],
  })
  const log = readFileSync(output, 'utf8')
  rmSync(directory, { recursive: true })
  return log
}

/**
 * @param {string} root
 * @param {{ readonly changed: boolean, readonly names: readonly string[] }} selection
 * @returns {Promise<boolean>} whether all that ran passed
 */
async function main(root, { changed, names }) {
  const before = await digests(root)
  const known = new Set([...before.keys()].map((file) => basename(file, '.test.ts')))
  const unknown = names.filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`no long test is named ${unknown.join(', ')}: use ${[...known].join(', ')}`)
  const record = readRecord(root)
  const isSelected = (/** @type {string} */ file) =>
    (names.length === 0 || names.includes(basename(file, '.test.ts'))) &&
    !(changed && record[file] === before.get(file))
  const files = [...before.keys()].filter(isSelected)
  console.log(
    `${files.length} of ${before.size} long tests run${changed ? '; the inputs of the others did not change' : ''}`,
  )
  if (files.length === 0) return true
  const log = run(root, files)
  const after = await digests(root)
  const passed = testFiles(log).filter(({ ok }) => ok)
  // A simulation of one seed or of few histories shows less than the record says.
  const isWhole = !Object.keys(process.env).some((name) => name.startsWith('SIMULATION_'))
  for (const { name } of passed) {
    const digest = before.get(name)
    if (isWhole && digest !== undefined && digest === after.get(name)) record[name] = digest
  }
  const kept = Object.entries(record).filter(([file]) => after.has(file))
  writeFileSync(join(root, RECORD), `${JSON.stringify(Object.fromEntries(kept.sort()), null, 2)}\n`)
  return report(log) && passed.length === files.length
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({ options: { changed: { type: 'boolean' } }, allowPositionals: true })
  const selection = { changed: values.changed ?? false, names: positionals }
  try {
    const passed = await main(fileURLToPath(new URL('..', import.meta.url)), selection)
    process.exitCode = passed ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  }
}
