/**
 * Upper bounds of the gas of collection calls, without asking a node: the cost of a mint must be known before its
 * collection is deployed. Each bound is the most expensive case measured (every receiver a first-time holder) plus a
 * margin; test/integration/nft-contracts-gas.test.ts compares them with the real costs. The bounds exclude code of a
 * receiver or owner: a safe transfer to a contract, or an owner that is a contract, must be estimated.
 */
import { toUtf8Bytes } from 'ethers/utils'
import type { CollectionConfig, CollectionKind, TokenStandard } from './nft-collection.ts'

type GasCurve = { readonly base: bigint; readonly perToken: bigint }

/**
 * Cost of a transaction before its tokens: 21,000, the proxy call, and the slot with owner and count. One token leaves a
 * fifth unused in every case, so a lane needs no estimate of it.
 */
const MINT: Readonly<Record<TokenStandard, GasCurve>> = {
  ERC721: { base: 45_000n, perToken: 75_000n },
  ERC1155: { base: 45_000n, perToken: 54_000n },
}
/** A SERIES records gaps in its ids, in two new storage slots. */
const SEQUENCE_GAP_GAS = 55_000n
const VOUCHER_GAS = 15_000n
const TRANSFER: Readonly<Record<TokenStandard, GasCurve>> = {
  ERC721: { base: 75_000n, perToken: 0n },
  ERC1155: { base: 35_000n, perToken: 32_000n },
}
const DEPLOY = { base: 130_000n, perByte: 250n }

/** The factory with both implementations. Below the limit of 2^24 per transaction (EIP-7825). */
export const FACTORY_GAS = 8_000_000n

export const REVOKE_GAS = 65_000n

const TOKEN_UPDATE_GAS = 45_000n
const FREEZE_GAS = 70_000n
/** Builds a token's URI and logs it. */
const URI = { base: 32_000n, perByte: 15n }

/** `deployCollection`. */
export function deployGas({ name, symbol, baseUri }: CollectionConfig): bigint {
  return DEPLOY.base + DEPLOY.perByte * BigInt(toUtf8Bytes(name + symbol + baseUri).length)
}

/** `encodeMint`, or `encodeMintBatch` of `count` tokens. */
export function mintGas(standard: TokenStandard, kind: CollectionKind, count: number): bigint {
  const { base, perToken } = MINT[standard]
  return base + perToken * BigInt(count) + (kind === 'SERIES' ? SEQUENCE_GAP_GAS : 0n)
}

/** `encodeSetTokenDigest`. ERC-1155 has an event with the new URI. */
export function tokenUpdateGas(standard: TokenStandard, baseUri: string): bigint {
  return TOKEN_UPDATE_GAS + (standard === 'ERC1155' ? uriGas(baseUri) : 0n)
}

/** `encodeFreeze`, which logs the final URI. */
export function freezeGas(standard: TokenStandard, baseUri: string): bigint {
  return FREEZE_GAS + uriGas(baseUri) * (standard === 'ERC1155' ? 2n : 1n)
}

/** `encodeRedeem` of a voucher signed by a key. */
export function redeemGas(standard: TokenStandard, kind: CollectionKind): bigint {
  return mintGas(standard, kind, 1) + VOUCHER_GAS
}

/** A transfer to an account without code: one token of ERC-721, or any number of ERC-1155 tokens to one receiver. */
export function transferGas(standard: TokenStandard, count: number): bigint {
  const { base, perToken } = TRANSFER[standard]
  return base + perToken * BigInt(count)
}

function uriGas(baseUri: string): bigint {
  return URI.base + URI.perByte * BigInt(toUtf8Bytes(baseUri).length)
}
