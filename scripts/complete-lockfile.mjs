// Makes package-lock.json name every optional platform package that a dependency names, so that `npm ci` accepts the
// lock on every platform. npm leaves out those that a registry did not offer when the lock was made, and `npm ci` then
// refuses the lock as incomplete. Download addresses are dropped: the reader's own registry is the one to ask. Every
// package has the digest of its contents, so that a registry cannot offer others.
//
//   node scripts/complete-lockfile.mjs           repair (run it after every change of dependencies)
//   node scripts/complete-lockfile.mjs --check   only report; exit 1 when a repair is needed

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * @typedef {{
 *   version?: string, resolved?: string, integrity?: string, link?: boolean, inBundle?: boolean, dev?: boolean, optional?: boolean, devOptional?: boolean,
 *   os?: string[], cpu?: string[], libc?: string[], engines?: Record<string, string>, license?: string,
 *   dependencies?: Record<string, string>, devDependencies?: Record<string, string>,
 *   optionalDependencies?: Record<string, string>,
 * }} Entry
 * @typedef {{ parent: string, name: string, version: string }} Missing
 */

const execute = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const lockPath = `${root}package-lock.json`

const OS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
/** The architecture in package names, and in Node's. Longer names come first. */
const CPU = /** @type {const} */ ([
  ['riscv64', 'riscv64'],
  ['loong64', 'loong64'],
  ['ppc64', 'ppc64'],
  ['s390x', 's390x'],
  ['arm64', 'arm64'],
  ['amd64', 'x64'],
  ['ia32', 'ia32'],
  ['x64', 'x64'],
  ['arm', 'arm'],
])

/**
 * Where Node would find a dependency of the package at `parent`, innermost first.
 *
 * @param {string} parent key of the lock, such as `node_modules/a/node_modules/b`
 * @param {string} name
 * @returns {string[]}
 */
function candidates(parent, name) {
  const keys = []
  for (let at = parent; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    keys.push(`${at === '' ? '' : `${at}/`}node_modules/${name}`)
    if (at === '') return keys
  }
}

/**
 * @param {Record<string, Entry>} packages
 * @returns {Missing[]} optional dependencies that are missing in the lock
 */
export function missingOptionals(packages) {
  const missing = []
  for (const [parent, entry] of Object.entries(packages))
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {}))
      if (!candidates(parent, name).some((key) => key in packages)) missing.push({ parent, name, version })
  return missing
}

/**
 * What the name alone shows about a platform package that the registry does not offer.
 *
 * @param {string} name
 * @returns {Entry}
 */
export function platformOf(name) {
  const os = OS.find((candidate) => name.includes(candidate))
  const cpu = CPU.find(([spelling]) => name.includes(spelling))
  if (os === undefined || cpu === undefined)
    throw new Error(`${name} has no platform in its name: complete the lock file manually`)
  const libc = /musl/.test(name) ? ['musl'] : /gnu/.test(name) ? ['glibc'] : undefined
  return { cpu: [cpu[1]], os: [os], ...(libc === undefined ? {} : { libc }) }
}

/**
 * @param {Missing} missing
 * @returns {Promise<Entry>} the registry's data, or what the name shows
 */
async function describe({ name, version }) {
  const fields = ['version', 'dist.integrity', 'os', 'cpu', 'libc', 'engines', 'license']
  try {
    const { stdout } = await execute('npm', ['view', `${name}@${version}`, ...fields, '--json'], { cwd: root })
    const told = stdout.trim() === '' ? undefined : JSON.parse(stdout)
    const facts = Array.isArray(told) ? told.at(-1) : told
    if (facts?.os !== undefined) return { ...facts, integrity: facts['dist.integrity'] }
  } catch (error) {
    if (!String(error).includes('E404')) throw error
  }
  console.log(`${name}@${version} is not available here: its platform is derived from its name`)
  return { version, ...platformOf(name) }
}

/**
 * @param {Record<string, Entry>} packages
 * @returns {string[]} one sentence for each problem
 */
export function defects(packages) {
  const found = missingOptionals(packages).map(
    ({ parent, name }) => `${name}, an optional dependency of ${parent}, is missing`,
  )
  for (const [key, entry] of Object.entries(packages))
    if (/^https?:/.test(entry.resolved ?? '')) found.push(`${key} contains the URL of its download`)
  for (const key of unverified(packages)) found.push(`${key} has no digest of its contents`)
  return found
}

/**
 * @param {Record<string, Entry>} packages
 * @returns {string[]} the packages of a registry whose contents npm does not check
 */
function unverified(packages) {
  return Object.entries(packages).flatMap(([key, { link, inBundle, integrity }]) =>
    key.includes('node_modules/') && !link && !inBundle && integrity === undefined ? [key] : [],
  )
}

/** @param {{ packages: Record<string, Entry> }} lock */
async function repair(lock) {
  for (const entry of Object.values(lock.packages)) if (/^https?:/.test(entry.resolved ?? '')) delete entry.resolved
  for (const missing of missingOptionals(lock.packages)) {
    const parent = lock.packages[missing.parent]
    const facts = await describe(missing)
    const dev = parent?.dev === true || parent?.devOptional === true ? true : undefined
    const { version, integrity, cpu, libc, license, os, engines } = facts
    // In npm's own order, so that its next write changes nothing. Undefined values are not written.
    const entry = { version, integrity, cpu, dev, libc, license, optional: true, os, engines }
    lock.packages[`node_modules/${missing.name}`] = JSON.parse(JSON.stringify(entry))
  }
  for (const key of unverified(lock.packages)) {
    const { version = '', ...entry } = lock.packages[key] ?? {}
    const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const { integrity } = await describe({ parent: '', name, version })
    lock.packages[key] = JSON.parse(JSON.stringify({ version, integrity, ...entry }))
  }
  const keys = Object.keys(lock.packages).sort((a, b) => a.localeCompare(b, 'en'))
  lock.packages = Object.fromEntries(keys.map((key) => [key, lock.packages[key] ?? {}]))
  writeFileSync(lockPath, `${JSON.stringify(lock, null, 2)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lock = JSON.parse(readFileSync(lockPath, 'utf8'))
  const found = defects(lock.packages)
  if (process.argv.includes('--check')) {
    for (const defect of found) console.error(defect)
    process.exitCode = found.length === 0 ? 0 : 1
  } else {
    await repair(lock)
    console.log(`package-lock.json: ${found.length} repaired`)
  }
}
