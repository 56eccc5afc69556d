/**
 * Upper bounds of the gas of collection calls under the rules of a fork, without asking a node: the cost of a mint must be known before its
 * collection is deployed. Each bound is the most expensive case measured (every receiver a first-time holder) plus a
 * margin; test/integration/nft-contracts-gas.test.ts compares them with the real costs. The bounds exclude code of a
 * receiver or owner: a safe transfer to a contract, or an owner that is a contract, must be estimated.
 */
import { toUtf8Bytes } from 'ethers/utils'
import type { GasRules } from '../../chain/forks.ts'
import type { CollectionConfig, CollectionKind, TokenStandard } from './collection.ts'

/** `deployCollection`. */
export function deployGas({ nft }: GasRules, { name, symbol, baseUri }: CollectionConfig): bigint {
  return nft.deploy.base + nft.deploy.perByte * BigInt(toUtf8Bytes(name + symbol + baseUri).length)
}

/** `encodeMint`, or `encodeMintBatch` of `count` tokens. */
export function mintGas({ nft }: GasRules, standard: TokenStandard, kind: CollectionKind, count: number): bigint {
  const { base, perToken } = nft.mint[standard]
  return base + perToken * BigInt(count) + (kind === 'SERIES' ? nft.sequenceGap : 0n)
}

/** `encodeSetTokenDigest`. ERC-1155 has an event with the new URI. */
export function tokenUpdateGas({ nft }: GasRules, standard: TokenStandard, baseUri: string): bigint {
  return nft.tokenUpdate + (standard === 'ERC1155' ? uriGas(nft, baseUri) : 0n)
}

/** `encodeFreeze`, which logs the final URI. */
export function freezeGas({ nft }: GasRules, standard: TokenStandard, baseUri: string): bigint {
  return nft.freeze + uriGas(nft, baseUri) * (standard === 'ERC1155' ? 2n : 1n)
}

/** A transfer to an account without code: one token of ERC-721, or any number of ERC-1155 tokens to one receiver. */
export function transferGas({ nft }: GasRules, standard: TokenStandard, count: number): bigint {
  const { base, perToken } = nft.transfer[standard]
  return base + perToken * BigInt(count)
}

function uriGas({ uri }: GasRules['nft'], baseUri: string): bigint {
  return uri.base + uri.perByte * BigInt(toUtf8Bytes(baseUri).length)
}
