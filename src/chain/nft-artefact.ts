/** The compiled NFT contracts as the service uses them: the factory's code and what the contracts can be asked. */
import { readFileSync } from 'node:fs'
import { Interface, type InterfaceAbi } from 'ethers/abi'

type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string }

/** Once, when the process starts: an installation without its artefacts must not begin to serve. */
const factory = readArtefact('BursarFactory')

/** The factory's creation code, with both implementations in it. */
export const FACTORY_CREATION_CODE = factory.bytecode
export const FACTORY_ABI = new Interface(factory.abi)
export const COLLECTION_ABI = {
  ERC721: new Interface(readArtefact('BursarERC721').abi),
  ERC1155: new Interface(readArtefact('BursarERC1155').abi),
} as const

function readArtefact(contract: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../contracts/artifacts/${contract}.json`, import.meta.url), 'utf8'))
}
