// Compiles the deployed contracts of src/contracts/ into src/contracts/artifacts/; shared code is in folders below.
// With --check it verifies that the committed artefacts match the output of the pinned compiler, and changes nothing.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const solc = require('solc')

const FOLDER = fileURLToPath(new URL('../src/contracts', import.meta.url))
/** Every supported network runs Paris: no newer opcode is used. */
const PARIS = { evmVersion: 'paris', optimizer: { enabled: true, runs: 10_000 }, metadata: { bytecodeHash: 'none' } }
/** OpenZeppelin's strings and clones use MCOPY, which Ethereum, Polygon and BNB Smart Chain support since 2024. */
const CANCUN = { ...PARIS, evmVersion: 'cancun' }
/** Contracts for public networks; the others are for local chains. */
const ON_CANCUN = /^Bursar/
const OUTPUT = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } }

/** @returns {Map<string, string>} the text of each artefact by contract name */
function compile() {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sol'))
  const onCancun = files.filter((file) => ON_CANCUN.test(file))
  const others = files.filter((file) => !onCancun.includes(file))
  return new Map([...compileFiles(others, PARIS), ...compileFiles(onCancun, CANCUN)])
}

/**
 * @param {string[]} files each named after its contract that gets an artefact
 * @param {typeof PARIS} settings
 * @returns {[string, string][]}
 */
function compileFiles(files, settings) {
  const sources = Object.fromEntries(files.map((name) => [name, { content: readFileSync(join(FOLDER, name), 'utf8') }]))
  const input = { language: 'Solidity', sources, settings: { ...settings, outputSelection: OUTPUT } }
  /** @param {string} path of an import: a local file, or one of a package */
  const findImport = (path) => {
    const own = join(FOLDER, path)
    return { contents: readFileSync(existsSync(own) ? own : require.resolve(path), 'utf8') }
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: findImport }))
  /** @type {{ severity: string, sourceLocation?: { file: string }, formattedMessage: string }[]} */
  const found = output.errors ?? []
  // A warning about a package's source is for its authors to fix.
  const problems = found.filter(({ severity, sourceLocation: at }) => severity === 'error' || !at?.file.startsWith('@'))
  if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return files.map((file) => {
    const contract = file.replace('.sol', '')
    const { abi, evm } = output.contracts[file][contract]
    const artefact = {
      contract,
      compiler: solc.version(),
      settings,
      abi,
      bytecode: `0x${evm.bytecode.object}`,
      deployedBytecode: `0x${evm.deployedBytecode.object}`,
    }
    return [contract, `${JSON.stringify(artefact, null, 2)}\n`]
  })
}

const checking = process.argv.includes('--check')
const artefacts = compile()
mkdirSync(join(FOLDER, 'artifacts'), { recursive: true })
const stale = [...artefacts].filter(([name, text]) => {
  const path = join(FOLDER, 'artifacts', `${name}.json`)
  if (!checking) writeFileSync(path, text)
  return checking && readFileSync(path, 'utf8') !== text
})
if (stale.length > 0) {
  console.error(
    `Artefacts that do not match their source: ${stale.map(([name]) => name).join(', ')}. Run npm run contracts.`,
  )
  process.exit(1)
}
console.log(`${artefacts.size} contracts ${checking ? 'match their artefacts' : 'compiled'} (${solc.version()})`)
