/**
 * The address of a collection's contract and its deployment. Every address is derived from the contract code, the
 * deployer and the config, so it is known before anything is sent and is the same on every chain (EIP-1014, EIP-1167).
 */
import { AbiCoder } from 'ethers/abi'
import { getCreate2Address, getCreateAddress } from 'ethers/address'
import { keccak256 } from 'ethers/crypto'
import { concat, toBeHex, toUtf8Bytes } from 'ethers/utils'
import { type ContractRequest, DEPLOYMENT_PROXY } from '../../chain/deployment-proxy.ts'
import {
  COLLECTION_CREATION_CODE as CREATION_CODE,
  FACTORY_ABI,
  FACTORY_CREATION_CODE,
  STEP_FACTORY_ABI,
  STEP_FACTORY_CREATION_CODE,
} from './artefact.ts'

export type TokenStandard = 'ERC721' | 'ERC1155'
export type CollectionKind = 'STANDARD' | 'SERIES' | 'DYNAMIC'

/** The immutable configuration of a collection's contract; only the owner can change later. */
export type CollectionConfig = {
  readonly standard: TokenStandard
  readonly kind: CollectionKind
  /** At most 255 bytes of UTF-8 each. */
  readonly name: string
  readonly symbol: string
  /** Prefix of a CID in a URI; `''` for `ipfs://`. */
  readonly baseUri: string
  /** SHA-256 of the collection's own metadata, 32 bytes as `0x` and hex; `null` for none. */
  readonly contractDigest: string | null
  readonly owner: string
  /** `null` only without a royalty. */
  readonly royaltyRecipient: string | null
  /** Basis points (hundredths of a percent), 0 to 5,000. */
  readonly royaltyBps: number
  /** Maximum number of token ids, at most MAX_SUPPLY_LIMIT; `null` for no limit. */
  readonly maxSupply: number | null
  readonly transferable: boolean
}

/** The contract uses a 48-bit counter. */
export const MAX_SUPPLY_LIMIT = 2 ** 48 - 1

/** The factory always uses this salt, so its address changes only with its code. */
const FACTORY_SALT = `0x${'00'.repeat(32)}`

/**
 * The address of BursarFactory on every chain that has it. Any code at this address is the factory, since the address
 * is a hash of the code.
 */
export const FACTORY_ADDRESS = getCreate2Address(DEPLOYMENT_PROXY, FACTORY_SALT, keccak256(FACTORY_CREATION_CODE))

/** The factory creates them first, with its nonces 1 and 2. */
export const IMPLEMENTATION_ADDRESS: Readonly<Record<TokenStandard, string>> = {
  ERC721: getCreateAddress({ from: FACTORY_ADDRESS, nonce: 1 }),
  ERC1155: getCreateAddress({ from: FACTORY_ADDRESS, nonce: 2 }),
}

/** `STEPS`: its implementations are created by transactions of their own, for chains where one has no room for all. */
export type FactoryKind = 'WHOLE' | 'STEPS'

const CODE_HASH = { ERC721: keccak256(CREATION_CODE.ERC721), ERC1155: keccak256(CREATION_CODE.ERC1155) } as const
const STEP_CODE = concat([STEP_FACTORY_CREATION_CODE, CODE_HASH.ERC721, CODE_HASH.ERC1155])
/** The address of BursarStepFactory on every chain that has it. */
export const STEP_FACTORY_ADDRESS = getCreate2Address(DEPLOYMENT_PROXY, FACTORY_SALT, keccak256(STEP_CODE))
/** Its implementations, on every chain where they have been created. */
export const STEP_IMPLEMENTATION_ADDRESS: Readonly<Record<TokenStandard, string>> = {
  ERC721: getCreate2Address(STEP_FACTORY_ADDRESS, FACTORY_SALT, CODE_HASH.ERC721),
  ERC1155: getCreate2Address(STEP_FACTORY_ADDRESS, FACTORY_SALT, CODE_HASH.ERC1155),
}

const PLACES = {
  WHOLE: { factory: FACTORY_ADDRESS, implementations: IMPLEMENTATION_ADDRESS },
  STEPS: { factory: STEP_FACTORY_ADDRESS, implementations: STEP_IMPLEMENTATION_ADDRESS },
} as const

const DEPLOY_SELECTOR = FACTORY_ABI.getFunction('deploy')?.selector ?? ''

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`
const ZERO_WORD = `0x${'00'.repeat(32)}`
const STANDARDS: Readonly<Record<TokenStandard, number>> = { ERC721: 0, ERC1155: 1 }
const KINDS: Readonly<Record<CollectionKind, number>> = { STANDARD: 0, SERIES: 1, DYNAMIC: 2 }

/** The address of a factory on every chain that has it. */
export function factoryAddress(kind: FactoryKind): string {
  return PLACES[kind].factory
}

/** Deploys a factory on a chain without it. Reverts when it exists already: `ensureFactory` does not. */
export function deployFactory(kind: FactoryKind = 'WHOLE'): ContractRequest {
  const code = kind === 'WHOLE' ? FACTORY_CREATION_CODE : STEP_CODE
  return { to: DEPLOYMENT_PROXY, data: concat([FACTORY_SALT, code]) }
}

/** Creates an implementation of the factory in steps, which must exist. Changes nothing if it has it. */
export function createImplementation(standard: TokenStandard): ContractRequest {
  const data = STEP_FACTORY_ABI.encodeFunctionData('createImplementation', [
    STANDARDS[standard],
    CREATION_CODE[standard],
  ])
  return { to: STEP_FACTORY_ADDRESS, data }
}

/** The salt derived from a collection's id. */
export function collectionSalt(collectionId: string): string {
  return keccak256(toUtf8Bytes(collectionId))
}

/** Deploys and initializes a collection in one call. Reverts when its sender deployed the same one before. */
export function deployCollection(config: CollectionConfig, salt: string, kind: FactoryKind = 'WHOLE'): ContractRequest {
  const values = {
    name: config.name,
    symbol: config.symbol,
    baseURI: config.baseUri,
    contractDigest: config.contractDigest ?? ZERO_WORD,
    owner: config.owner,
    royaltyRecipient: config.royaltyRecipient ?? ZERO_ADDRESS,
    royaltyBps: config.royaltyBps,
    maxSupply: config.maxSupply ?? 0,
    transferable: config.transferable,
    kind: KINDS[config.kind],
  }
  return {
    to: PLACES[kind].factory,
    data: FACTORY_ABI.encodeFunctionData('deploy', [STANDARDS[config.standard], salt, values]),
  }
}

/** Whether call data is for the factory's `deploy`. */
export function isDeployment(data: string): boolean {
  return data.toLowerCase().startsWith(DEPLOY_SELECTOR)
}

/**
 * The address at which `deployCollection` creates the collection.
 *
 * @param deployer the sender of that call
 * @returns the address with its EIP-55 checksum
 */
export function predictCollectionAddress(
  config: CollectionConfig,
  salt: string,
  deployer: string,
  kind: FactoryKind = 'WHOLE',
): string {
  const { factory, implementations } = PLACES[kind]
  const callerSalt = keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'bytes32'], [deployer, salt]))
  return getCreate2Address(factory, callerSalt, keccak256(cloneCreationCode(config, implementations)))
}

/** A minimal proxy (EIP-1167) with the config appended to its code, in the layout of CollectionConfig.sol. */
function cloneCreationCode(config: CollectionConfig, implementations: Readonly<Record<TokenStandard, string>>): string {
  const [name, symbol] = [toUtf8Bytes(config.name), toUtf8Bytes(config.symbol)]
  const code = concat([
    '0x363d3d373d3d3d363d73',
    implementations[config.standard],
    '0x5af43d82803e903d91602b57fd5bf3',
    config.contractDigest ?? ZERO_WORD,
    config.royaltyRecipient ?? ZERO_ADDRESS,
    toBeHex(config.royaltyBps, 2),
    toBeHex(KINDS[config.kind], 1),
    toBeHex(config.transferable ? 1 : 0, 1),
    toBeHex(config.maxSupply ?? 0, 6),
    toBeHex(name.length, 1),
    toBeHex(symbol.length, 1),
    name,
    symbol,
    toUtf8Bytes(config.baseUri),
  ])
  return concat(['0x61', toBeHex(code.length / 2 - 1, 2), '0x3d81600a3d39f3', code])
}
