// Runs the contract's requests and the tests of test/nodes against real nodes: geth, and the node of Hardhat. All, those that
// are named, or with --changed those whose inputs differ from the inputs with which they last passed, which
// test/node-runs.json records. With --prepare it only makes geth, if one of them needs it.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { filesBelow, fingerprint } from './fingerprint.mjs'

const GETH = { module: 'github.com/ethereum/go-ethereum/cmd/geth', version: 'v1.17.10' }
/** Its node needs a newer Node than the service. */
const HARDHAT = { version: '3.18.0', node: '22' }
const RECORD = 'test/node-runs.json'
const INPUTS = ['src/chain', 'src/transactions', 'src/contracts', 'test/nodes', 'test/e2e', 'scripts/node-tests.mjs']
/** Contracts of capabilities. */
const CONTRACTS = readdirSync(new URL('../src', import.meta.url)).map((folder) => `src/${folder}/contracts`)
/** Made from other inputs. */
const NO_INPUTS = /^src\/contracts\/artifacts\//
const TIMEOUT_S = 600

const FILES = {
  node: 'nodes/node.test.js',
  rules: 'nodes/rules.test.js',
  crossing: 'nodes/crossing.test.js',
  contract: 'e2e/contract.test.js',
}

/**
 * `checks` is a set of test/e2e/contract.test.ts.
 *
 * @typedef {{ readonly client: 'geth' | 'hardhat', readonly fork?: string, readonly checks?: string, readonly files: readonly (keyof typeof FILES)[] }} Leg
 * @type {Readonly<Record<string, Leg>>}
 */
const LEGS = {
  'geth-osaka': { client: 'geth', fork: 'osaka', checks: 'on-nodes', files: ['node', 'rules', 'contract'] },
  'geth-amsterdam': { client: 'geth', fork: 'amsterdam', checks: 'on-nodes', files: ['node', 'rules', 'contract'] },
  'geth-crossing': { client: 'geth', fork: 'crossing', files: ['crossing'] },
  hardhat: { client: 'hardhat', checks: 'on-one-node', files: ['node', 'contract'] },
}
/** NODE_LEGS names those that run without being named, such as `geth-osaka,hardhat`: otherwise all. */
const USUAL = process.env.NODE_LEGS?.split(',') ?? Object.keys(LEGS)

const root = fileURLToPath(new URL('..', import.meta.url))

/** @param {string} name */
function digestOf(name) {
  const files = filesBelow(root, [...INPUTS, ...CONTRACTS]).filter((path) => !NO_INPUTS.test(path))
  return fingerprint(root, files, `${name} ${GETH.version} ${HARDHAT.version}`)
}

/**
 * GETH names a binary. Otherwise it is compiled once and kept in the user's cache.
 *
 * @returns {string} the binary
 */
function prepareGeth() {
  if (process.env.GETH) return process.env.GETH
  const directory = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'bursar', `geth-${GETH.version}`)
  const binary = join(directory, 'geth')
  if (existsSync(binary)) return binary
  const go = goProgram()
  mkdirSync(directory, { recursive: true })
  const startedAt = performance.now()
  const env = { ...process.env, GOBIN: directory, GOFLAGS: '-buildvcs=false' }
  const { status } = spawnSync(go, ['install', `${GETH.module}@${GETH.version}`], { env, stdio: 'inherit' })
  if (status !== 0) throw new Error(`geth ${GETH.version} could not be compiled`)
  console.log(`compiled geth ${GETH.version} in ${seconds(startedAt)}`)
  return binary
}

/** .ci/run installs the first one where the second is missing or too old. */
function goProgram() {
  const found = [join(root, 'node_modules/.cache/python/bin/go'), 'go'].find(
    (program) => spawnSync(program, ['version']).status === 0,
  )
  if (found === undefined) throw new Error('install Go 1.25 or later, or set GETH to a geth binary')
  return found
}

/**
 * @param {string} directory
 * @returns {string} the same, with the packages of Hardhat and its Node
 */
function prepareHardhat(directory) {
  const node = `node-${process.platform}-${process.arch}`
  const install = (/** @type {string} */ what, env = process.env) => {
    const args = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--silent', what]
    if (spawnSync('npm', args, { env, stdio: 'inherit' }).status !== 0) throw new Error(`npm could not install ${what}`)
  }
  install(`${node}@${HARDHAT.node}`)
  // With its own Node: npm leaves out the native parts for versions that they do not support.
  const PATH = `${join(directory, 'node_modules', node, 'bin')}:${process.env.PATH}`
  install(`hardhat@${HARDHAT.version}`, { ...process.env, PATH })
  return directory
}

/**
 * @param {string} name
 * @returns {Promise<boolean>} whether its files passed
 */
async function runLeg(name) {
  const leg = /** @type {Leg} */ (LEGS[name])
  const { client, fork, checks = '', files } = leg
  const directory = mkdtempSync(join(tmpdir(), 'bursar-node-'))
  try {
    const program = client === 'geth' ? prepareGeth() : prepareHardhat(directory)
    const env = {
      ...process.env,
      LOCAL_NODE: JSON.stringify({ client, program, fork }),
      CONTRACT_CHECKS: checks,
      TAP_TIMEOUT: String(TIMEOUT_S),
    }
    let passed = true
    for (const file of files) passed = (await runFile(name, FILES[file], env)) && passed
    return passed
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * @param {string} name
 * @param {string} file
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<boolean>}
 */
async function runFile(name, file, env) {
  const startedAt = performance.now()
  const args = ['--import=./test/support/memory-files.mjs', join('dist/test', file)]
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  const hangs = setTimeout(() => child.kill('SIGTERM'), TIMEOUT_S * 1_000)
  const status = await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(hangs)
  const told = log.match(/^ *# (SIG|\d+ transfers).*/gm) ?? []
  console.log(`${name}: ${file} ${status === 0 ? 'passed' : 'FAILED'} in ${seconds(startedAt)}`)
  for (const line of told) console.log(`  ${line.trim()}`)
  if (status !== 0) console.log(failuresIn(log))
  return status === 0
}

/** @param {string} log */
function failuresIn(log) {
  const failed = log.split('\n').flatMap((line, i, lines) => (/^ *not ok/.test(line) ? lines.slice(i, i + 30) : []))
  return (failed.length > 0 ? failed : log.split('\n').slice(-30)).map((line) => line.slice(0, 400)).join('\n')
}

/** @param {number} startedAt */
function seconds(startedAt) {
  return `${Math.round((performance.now() - startedAt) / 1_000)} s`
}

/**
 * @param {{ readonly changed: boolean, readonly prepare: boolean, readonly names: readonly string[] }} selection
 * @returns {Promise<boolean>}
 */
async function main({ changed, prepare, names }) {
  const unknown = [...names, ...USUAL].filter((name) => !(name in LEGS))
  if (unknown.length > 0) throw new Error(`no node is named ${unknown.join(', ')}: use ${Object.keys(LEGS).join(', ')}`)
  /** @type {Record<string, string>} */
  const record = JSON.parse(readFileSync(join(root, RECORD), 'utf8'))
  const legs = (names.length > 0 ? names : USUAL).filter((name) => !changed || record[name] !== digestOf(name))
  if (prepare) {
    if (legs.some((name) => LEGS[name]?.client === 'geth')) prepareGeth()
    return true
  }
  console.log(legs.length > 0 ? `running ${legs.join(', ')}` : 'nothing that depends on a node changed')
  const before = new Map(legs.map((name) => [name, digestOf(name)]))
  // One after the other: each has a sandbox of its own, with three nodes.
  const passed = []
  for (const name of legs) passed.push(await runLeg(name))
  for (const [i, name] of legs.entries()) {
    const digest = digestOf(name)
    if (passed[i] && digest === before.get(name)) record[name] = digest
  }
  if (legs.length > 0) writeFileSync(join(root, RECORD), `${JSON.stringify(record, null, 2)}\n`)
  return passed.every(Boolean)
}

try {
  const options = /** @type {const} */ ({ changed: { type: 'boolean' }, prepare: { type: 'boolean' } })
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const { changed = false, prepare = false } = values
  process.exitCode = (await main({ changed, prepare, names: positionals })) ? 0 : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
