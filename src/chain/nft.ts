/** Call data for the contracts of collections. Token ids and amounts are bigints, digests 32 bytes as `0x` and hex. */
import { COLLECTION_ABI } from './nft-artefact.ts'
import type { TokenStandard } from './nft-collection.ts'

/** One token to be minted. */
export type TokenMint = {
  readonly recipient: string
  /** Units of the token; 1 in ERC-721. */
  readonly amount: bigint
  /** SHA-256 of the token's metadata. */
  readonly digest: string
}

export type NftTransfer = {
  readonly from: string
  readonly to: string
  readonly tokenId: bigint
  /** Units of the token; 1 in ERC-721. */
  readonly amount: bigint
}

/** Call data of one mint by the owner. The contract refuses an id that was ever used. */
export function encodeMint(standard: TokenStandard, tokenId: bigint, { recipient, amount, digest }: TokenMint): string {
  return standard === 'ERC721'
    ? COLLECTION_ABI.ERC721.encodeFunctionData('mint', [recipient, tokenId, digest])
    : COLLECTION_ABI.ERC1155.encodeFunctionData('mint', [recipient, tokenId, amount, digest])
}

/** Call data of a mint by the owner of ids `firstTokenId`, `firstTokenId + 1` … in the order given: all of them or none. */
export function encodeMintBatch(standard: TokenStandard, firstTokenId: bigint, tokens: readonly TokenMint[]): string {
  const recipients = tokens.map(({ recipient }) => recipient)
  const digests = tokens.map(({ digest }) => digest)
  return standard === 'ERC721'
    ? COLLECTION_ABI.ERC721.encodeFunctionData('mintBatch', [firstTokenId, recipients, digests])
    : COLLECTION_ABI.ERC1155.encodeFunctionData('mintBatch', [
        firstTokenId,
        recipients,
        tokens.map(({ amount }) => amount),
        digests,
      ])
}

/** Call data of ERC-721's `transferFrom`, which does not ask the receiver. */
export function encodeErc721Transfer({ from, to, tokenId }: NftTransfer): string {
  return COLLECTION_ABI.ERC721.encodeFunctionData('transferFrom', [from, to, tokenId])
}

/** Call data of `safeTransferFrom`. ERC-1155 knows no other transfer. */
export function encodeSafeTransfer(standard: TokenStandard, { from, to, tokenId, amount }: NftTransfer): string {
  return standard === 'ERC721'
    ? COLLECTION_ABI.ERC721.encodeFunctionData('safeTransferFrom(address,address,uint256)', [from, to, tokenId])
    : COLLECTION_ABI.ERC1155.encodeFunctionData('safeTransferFrom', [from, to, tokenId, amount, '0x'])
}

/** Call data of ERC-1155's `safeBatchTransferFrom`: many tokens to one receiver. */
export function encodeSafeBatchTransfer(
  from: string,
  to: string,
  items: readonly { readonly tokenId: bigint; readonly amount: bigint }[],
): string {
  const ids = items.map(({ tokenId }) => tokenId)
  const amounts = items.map(({ amount }) => amount)
  return COLLECTION_ABI.ERC1155.encodeFunctionData('safeBatchTransferFrom', [from, to, ids, amounts, '0x'])
}

/** Call data that gives a token of a DYNAMIC collection other metadata; by the owner. */
export function encodeSetTokenDigest(tokenId: bigint, digest: string): string {
  return COLLECTION_ABI.ERC721.encodeFunctionData('setTokenDigest', [tokenId, digest])
}

/** Call data that ends changes of a token's metadata for ever; by the owner, of a DYNAMIC collection. */
export function encodeFreeze(tokenId: bigint): string {
  return COLLECTION_ABI.ERC721.encodeFunctionData('freeze', [tokenId])
}

/** Call data that gives a token id up, so that no voucher of it can be redeemed; by the owner. */
export function encodeRevoke(tokenId: bigint): string {
  return COLLECTION_ABI.ERC721.encodeFunctionData('revoke', [tokenId])
}

/** Call data that hands the collection to another owner: who then mints, revokes and signs vouchers. */
export function encodeTransferOwnership(newOwner: string): string {
  return COLLECTION_ABI.ERC721.encodeFunctionData('transferOwnership', [newOwner])
}
