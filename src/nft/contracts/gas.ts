/**
 * Upper bounds of the gas of collection calls under the rules of a fork, without asking a node: the cost of a mint must be known before its
 * collection is deployed. Each bound is the most expensive case measured (every receiver a first-time holder) plus a
 * margin; test/integration/nft-contracts-gas.test.ts compares them with the real costs. The bounds exclude code of a
 * receiver or owner: a safe transfer to a contract, or an owner that is a contract, must be estimated.
 */
import { toUtf8Bytes } from 'ethers/utils'
import type { ByteCurve, GasRules } from '../../chain/forks.ts'
import type { CollectionConfig, CollectionKind, TokenStandard } from './collection.ts'
import { NFT_GAS } from './gas-rules.ts'

/** `deployCollection`. */
export function deployGas({ set }: GasRules, { name, symbol, baseUri }: CollectionConfig): bigint {
  const { deploy } = NFT_GAS[set]
  return deploy.base + deploy.perByte * BigInt(toUtf8Bytes(name + symbol + baseUri).length)
}

/** `encodeMint`, or `encodeMintBatch` of `count` tokens. */
export function mintGas({ set }: GasRules, standard: TokenStandard, kind: CollectionKind, count: number): bigint {
  const { mint, sequenceGap } = NFT_GAS[set]
  const { base, perToken } = mint[standard]
  return base + perToken * BigInt(count) + (kind === 'SERIES' ? sequenceGap : 0n)
}

/** `encodeSetTokenDigest`. ERC-1155 has an event with the new URI. */
export function tokenUpdateGas({ set }: GasRules, standard: TokenStandard, baseUri: string): bigint {
  const { tokenUpdate, uri } = NFT_GAS[set]
  return tokenUpdate + (standard === 'ERC1155' ? uriGas(uri, baseUri) : 0n)
}

/** `encodeFreeze`, which logs the final URI. */
export function freezeGas({ set }: GasRules, standard: TokenStandard, baseUri: string): bigint {
  const { freeze, uri } = NFT_GAS[set]
  return freeze + uriGas(uri, baseUri) * (standard === 'ERC1155' ? 2n : 1n)
}

/** A transfer to an account without code: one token of ERC-721, or any number of ERC-1155 tokens to one receiver. */
export function transferGas({ set }: GasRules, standard: TokenStandard, count: number): bigint {
  const { base, perToken } = NFT_GAS[set].transfer[standard]
  return base + perToken * BigInt(count)
}

function uriGas({ base, perByte }: ByteCurve, baseUri: string): bigint {
  return base + perByte * BigInt(toUtf8Bytes(baseUri).length)
}
