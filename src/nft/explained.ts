/** How `explain` reports collections, mints and NFT transfers. */
import { explained } from '../capability.ts'
import { collectionAggregate } from './collections/aggregate.ts'
import { mintAggregate } from './tokens/mint-aggregate.ts'
import { nftTransferAggregate } from './transfers/aggregate.ts'

export const explainedCollection = explained(collectionAggregate, {
  prefix: 'col',
  noun: 'collection',
  transactionsOf: 'collection',
  texts: {
    CollectionRequested: ({ standard, name, contractAddress, walletId }) =>
      `${standard} collection "${name}" requested at ${contractAddress}, owned by wallet ${walletId}`,
  },
})

export const explainedMint = explained(mintAggregate, {
  prefix: 'mint',
  noun: 'mint',
  transactionsOf: 'mint',
  texts: {
    MintRecorded: ({ mintingType, tokens, collectionId }) =>
      `${mintingType} mint of ${tokens.length} tokens of ${collectionId} requested`,
    VoucherRequested: ({ walletId, validUntil }) =>
      `voucher requested from wallet ${walletId}, ${validUntil === null ? 'never expires' : `valid until ${validUntil}`}`,
    VoucherSigned: () => 'voucher signed',
    VoucherRedemptionRequested: ({ recipient, transactionId }) =>
      `redemption for ${recipient} requested: ${transactionId}`,
    VoucherRevocationRecorded: ({ transactionId }) => `revocation requested: ${transactionId}`,
    VoucherUsed: ({ as, recipient, blockNumber, hash, transactionId }) =>
      as === 'minted'
        ? `token minted to ${recipient} in block ${blockNumber}, by ${transactionId ?? foreign(hash)}`
        : `token id revoked in block ${blockNumber}, by ${transactionId ?? foreign(hash)}`,
    VoucherUseReorged: ({ as, blockNumber }) => `block ${blockNumber}, in which it was ${as}, left the chain`,
  },
})

function foreign(hash: string | null): string {
  return hash === null ? 'a foreign transaction' : `the foreign transaction ${hash}`
}

export const explainedNftTransfer = explained(nftTransferAggregate, {
  prefix: 'nftx',
  noun: 'nft transfer',
  transactionsOf: 'nft_transfer',
  texts: {
    NftTransferRecorded: ({ transferType, items, collectionId, walletId }) =>
      `${transferType} transfer of ${items.length} items of ${collectionId} requested from wallet ${walletId}`,
  },
})
