// Compiles src/contracts/*.sol into src/contracts/artifacts/. With --check it proves that the committed artefacts are
// what the pinned compiler makes of the sources, and changes nothing.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const solc = require('solc')

const FOLDER = fileURLToPath(new URL('../src/contracts', import.meta.url))
/** Paris runs on every network here: no opcode of it is newer than the merge. */
const SETTINGS = { evmVersion: 'paris', optimizer: { enabled: true, runs: 10_000 }, metadata: { bytecodeHash: 'none' } }
const OUTPUT = { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } }

/** @returns {Map<string, string>} the text of each artefact by contract name */
function compile() {
  const names = readdirSync(FOLDER).filter((file) => file.endsWith('.sol'))
  const sources = Object.fromEntries(names.map((name) => [name, { content: readFileSync(join(FOLDER, name), 'utf8') }]))
  const input = { language: 'Solidity', sources, settings: { ...SETTINGS, outputSelection: OUTPUT } }
  /** @param {string} path */
  const findImport = (path) => ({ contents: readFileSync(require.resolve(path), 'utf8') })
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: findImport }))
  /** @type {{ formattedMessage: string }[]} */
  const problems = output.errors ?? []
  if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return new Map(
    names.map((file) => {
      const contract = file.replace('.sol', '')
      const { abi, evm } = output.contracts[file][contract]
      const artefact = {
        contract,
        compiler: solc.version(),
        settings: SETTINGS,
        abi,
        bytecode: `0x${evm.bytecode.object}`,
        deployedBytecode: `0x${evm.deployedBytecode.object}`,
      }
      return [contract, `${JSON.stringify(artefact, null, 2)}\n`]
    }),
  )
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
