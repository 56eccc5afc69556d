/** The compiled contracts of guarded swaps. */
import { readFileSync } from 'node:fs'
import { Interface, type InterfaceAbi } from 'ethers/abi'

type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string; readonly deployedBytecode: string }

/** Read at process start, as the others. */
const guard = readArtefact('BursarSwapGuard')
const executor = readArtefact('BursarSwapExecutor')

export const GUARD_ABI = new Interface(guard.abi)
/** What the executor says when a route fails, and what both say of a token. */
export const EXECUTOR_ABI = new Interface(executor.abi)
/** It creates the executor too. */
export const GUARD_CREATION_CODE = guard.bytecode
/** Without the address of the other contract, which each keeps in its code. */
export const CODE_WITHOUT_ADDRESS = { guard: guard.deployedBytecode, executor: executor.deployedBytecode } as const

function readArtefact(contract: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../../contracts/artifacts/${contract}.json`, import.meta.url), 'utf8'))
}
