/** The compiled NFT contracts: the factory's code and the ABIs. */
import { readFileSync } from 'node:fs'
import { Interface, type InterfaceAbi } from 'ethers/abi'

type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string }

/** Read at process start: an installation without its artefacts must not start to serve. */
const factory = readArtefact('BursarFactory')

/** The factory's creation code, which includes both implementations. */
export const FACTORY_CREATION_CODE = factory.bytecode
export const FACTORY_ABI = new Interface(factory.abi)
export const COLLECTION_ABI = {
  ERC721: new Interface(readArtefact('BursarERC721').abi),
  ERC1155: new Interface(readArtefact('BursarERC1155').abi),
} as const

function readArtefact(contract: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../contracts/artifacts/${contract}.json`, import.meta.url), 'utf8'))
}
