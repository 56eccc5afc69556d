/**
 * How much gas a call to a collection takes at most, without asking a node: what a mint costs must be known before its
 * collection is there. Each is the dearest case that was measured (every receiver a first-time holder) and a margin;
 * test/integration/nft-contracts-gas.test.ts holds them against the real costs. Nothing here covers a receiver's or an
 * owner's own code: a safe transfer to a contract, or an owner that is one, must be estimated.
 */
import { toUtf8Bytes } from 'ethers/utils'
import type { CollectionConfig, CollectionKind, TokenStandard } from './nft-collection.ts'

type GasCurve = { readonly base: bigint; readonly perToken: bigint }

/** What a transaction costs before its tokens: 21,000, the clone's detour, the owner's slot with the count. */
const MINT: Readonly<Record<TokenStandard, GasCurve>> = {
  ERC721: { base: 35_000n, perToken: 75_000n },
  ERC1155: { base: 35_000n, perToken: 54_000n },
}
/** A SERIES notes where numbers were left out, in two fresh slots. */
const SEQUENCE_GAP_GAS = 55_000n
const VOUCHER_GAS = 15_000n
const TRANSFER: Readonly<Record<TokenStandard, GasCurve>> = {
  ERC721: { base: 75_000n, perToken: 0n },
  ERC1155: { base: 35_000n, perToken: 32_000n },
}
const DEPLOY = { base: 130_000n, perByte: 250n }

/** The factory with both implementations in it. Below the 2^24 that EIP-7825 allows a transaction. */
export const FACTORY_GAS = 8_000_000n

export const REVOKE_GAS = 65_000n

const TOKEN_UPDATE_GAS = 45_000n
const FREEZE_GAS = 70_000n
/** To build a token's URI and log it. */
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

/** `encodeFreeze`, which logs the URI that stays. */
export function freezeGas(standard: TokenStandard, baseUri: string): bigint {
  return FREEZE_GAS + uriGas(baseUri) * (standard === 'ERC1155' ? 2n : 1n)
}

/** `encodeRedeem` of a voucher that a key signed. */
export function redeemGas(standard: TokenStandard, kind: CollectionKind): bigint {
  return mintGas(standard, kind, 1) + VOUCHER_GAS
}

/** A transfer to an account without code; of ERC-721 one token, of ERC-1155 any number to one receiver. */
export function transferGas(standard: TokenStandard, count: number): bigint {
  const { base, perToken } = TRANSFER[standard]
  return base + perToken * BigInt(count)
}

function uriGas(baseUri: string): bigint {
  return URI.base + URI.perByte * BigInt(toUtf8Bytes(baseUri).length)
}
