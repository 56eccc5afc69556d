/** Compiles test-only contracts with the settings of the project's own. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Interface, type InterfaceAbi } from 'ethers/abi'
import solc from 'solc'

export type CompiledContract = { readonly abi: Interface; readonly bytecode: string }

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { abi: InterfaceAbi; evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }>
  >
}

const require = createRequire(import.meta.url)

/** @returns the contracts of test/support/contracts/`file`, and the interfaces it imports, by name */
export function compileSolidity(file: string): ReadonlyMap<string, CompiledContract> {
  const content = readFileSync(new URL(`contracts/${file}`, import.meta.url), 'utf8')
  const input = {
    language: 'Solidity',
    sources: { [file]: { content } },
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 10_000 },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  }
  const findImport = (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') })
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: findImport })) as Output
  const failure = output.errors?.find(({ severity }) => severity === 'error')
  if (failure !== undefined) throw new Error(failure.formattedMessage)
  return new Map(
    Object.values(output.contracts)
      .flatMap((contracts) => Object.entries(contracts))
      .map(([name, { abi, evm }]) => [name, { abi: new Interface(abi), bytecode: `0x${evm.bytecode.object}` }]),
  )
}

/** @throws Error when the file has no such contract */
export function contractIn(compiled: ReadonlyMap<string, CompiledContract>, name: string): CompiledContract {
  const contract = compiled.get(name)
  if (contract === undefined) throw new Error(`${name} was not compiled`)
  return contract
}
