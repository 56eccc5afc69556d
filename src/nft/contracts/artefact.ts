/** The compiled NFT contracts: the factory's code and the ABIs. */
import { readFileSync } from 'node:fs'
import { Interface, type InterfaceAbi } from 'ethers/abi'

type Artefact = { readonly abi: InterfaceAbi; readonly bytecode: string }

/** Read at process start: an installation without its artefacts must not start to serve. */
const factory = readArtefact('BursarFactory')

/** The factory's creation code, which includes both implementations. */
export const FACTORY_CREATION_CODE = factory.bytecode
export const FACTORY_ABI = new Interface(factory.abi)
/** The factory whose implementations are created by transactions of their own: the same `deploy`. */
const stepFactory = readArtefact('BursarStepFactory')
export const STEP_FACTORY_CREATION_CODE = stepFactory.bytecode
export const STEP_FACTORY_ABI = new Interface(stepFactory.abi)

const collections = { ERC721: readArtefact('BursarERC721'), ERC1155: readArtefact('BursarERC1155') } as const
export const COLLECTION_ABI = {
  ERC721: new Interface(collections.ERC721.abi),
  ERC1155: new Interface(collections.ERC1155.abi),
} as const
export const COLLECTION_CREATION_CODE = {
  ERC721: collections.ERC721.bytecode,
  ERC1155: collections.ERC1155.bytecode,
} as const

function readArtefact(contract: string): Artefact {
  return JSON.parse(readFileSync(new URL(`../../contracts/artifacts/${contract}.json`, import.meta.url), 'utf8'))
}
