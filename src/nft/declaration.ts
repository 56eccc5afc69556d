/** The declaration of NFTs: collections, mints, token updates, transfers and owners. */
import { READERS, readBy } from '../core/database-roles.ts'
import { type Declaration, type EventWriters, MPC_LIMITS, QUICK_LIMITS, WHOLE_ROW } from '../core/declaration.ts'
import type { CollectionEvent } from './collections/events.ts'
import type { OwnershipEvent } from './ownership/events.ts'
import type { MintEvent } from './tokens/mint-events.ts'
import type { TokenEvent } from './tokens/token-events.ts'
import type { NftTransferEvent } from './transfers/events.ts'

const READ_SCOPE = 'nft:read'
const USE = ['used_as', 'used_by', 'used_hash', 'used_transaction_id', 'used_block'] as const
const CONTENT = { nft_metadata: { content: 'content' }, nft_pins: 'free' } as const

export const nft = {
  name: 'nft',
  ids: { collection: 'col', mint: 'mint', nftTransfer: 'nftx' },
  scopes: { [READ_SCOPE]: {}, 'nft:write': {} },
  tables: {
    nft_collections: { follows: 'stream', grants: readBy([...READERS, 'follower', 'signer', 'party']) },
    nft_metadata: { follows: 'first', grants: readBy([...READERS, 'dispatcher']) },
    nft_mints: { follows: 'stream', grants: readBy(READERS) },
    nft_owners: { follows: 'stream', grants: readBy([...READERS, 'follower']) },
    nft_token_updates: { follows: 'stream', grants: readBy(READERS) },
    nft_tokens: { follows: 'stream', grants: readBy([...READERS, 'follower']) },
    nft_transfer_items: { follows: 'stream', grants: readBy(READERS) },
    nft_transfers: { follows: 'stream', grants: readBy(READERS) },
    nft_vouchers: { follows: 'stream', grants: readBy([...READERS, 'dispatcher', 'follower']) },
    nft_pins: {
      beside: 'content that the IPFS node confirmed; after an import all content is pinned again',
      isAppended: true,
      grants: readBy(['operator'], { api: 'SELECT, INSERT, UPDATE', dispatcher: 'SELECT, INSERT, UPDATE, DELETE' }),
    },
  },
  openings: {
    CollectionDeployRequested: { type: 'NFT_DEPLOY', writers: ['api'], since: 2 },
    MintRequested: { type: 'NFT_MINT', writers: ['api'], since: 2 },
    NftTransferRequested: { type: 'NFT_TRANSFER', writers: ['api'], since: 2 },
    TokenUpdateRequested: { type: 'NFT_UPDATE', writers: ['api'], since: 2 },
    VoucherRevocationRequested: { type: 'NFT_REVOKE', writers: ['api'], since: 2 },
  },
  subjects: ['collection', 'mint', 'nft_transfer', 'token'],
  streams: {
    collection: {
      rows: { nft_collections: { of: '{collection_id}', changes: { CollectionRequested: WHOLE_ROW } }, ...CONTENT },
      readScope: READ_SCOPE,
      events: { CollectionRequested: ['api'] } satisfies EventWriters<CollectionEvent>,
    },
    mint: {
      rows: {
        nft_mints: {
          of: '{mint_id}',
          changes: {
            MintRecorded: WHOLE_ROW,
            VoucherRequested: [],
            VoucherSigned: [],
            VoucherRedemptionRequested: [],
            VoucherRevocationRecorded: [],
            VoucherUsed: [],
            VoucherUseReorged: [],
          },
        },
        nft_tokens: {
          of: '{mint_id}',
          changes: {
            MintRecorded: WHOLE_ROW,
            VoucherRequested: [],
            VoucherSigned: [],
            VoucherRedemptionRequested: ['recipient', 'transaction_id'],
            VoucherRevocationRecorded: [],
            VoucherUsed: [],
            VoucherUseReorged: [],
          },
        },
        nft_vouchers: {
          of: '{mint_id}',
          changes: {
            VoucherRequested: WHOLE_ROW,
            VoucherSigned: ['signature', 'signed_at'],
            VoucherRedemptionRequested: [],
            VoucherRevocationRecorded: ['revocation_id'],
            VoucherUsed: USE,
            VoucherUseReorged: USE,
          },
        },
        ...CONTENT,
      },
      readScope: READ_SCOPE,
      events: {
        MintRecorded: ['api'],
        VoucherRequested: ['api'],
        VoucherSigned: ['signer'],
        VoucherRedemptionRequested: ['api'],
        VoucherRevocationRecorded: ['api'],
        VoucherUsed: ['follower'],
        VoucherUseReorged: ['follower'],
      } satisfies EventWriters<MintEvent>,
    },
    token: {
      rows: {
        nft_token_updates: {
          of: '{collection_id}-{token_id}',
          changes: { TokenMetadataChanged: WHOLE_ROW, TokenFrozen: WHOLE_ROW },
        },
        ...CONTENT,
      },
      readScope: READ_SCOPE,
      events: { TokenMetadataChanged: ['api'], TokenFrozen: ['api'] } satisfies EventWriters<TokenEvent>,
    },
    nftx: {
      rows: {
        nft_transfer_items: { of: '{transfer_id}', changes: { NftTransferRecorded: WHOLE_ROW } },
        nft_transfers: { of: '{transfer_id}', changes: { NftTransferRecorded: WHOLE_ROW } },
      },
      readScope: READ_SCOPE,
      events: { NftTransferRecorded: ['api'] } satisfies EventWriters<NftTransferEvent>,
    },
    ownership: {
      rows: {
        nft_owners: {
          of: '{collection_id}',
          changes: {
            TokensMoved: [...WHOLE_ROW, 'amount', 'block_number'],
            OwnershipReorged: ['amount', 'block_number'],
          },
        },
      },
      readScope: READ_SCOPE,
      events: { TokensMoved: ['follower'], OwnershipReorged: ['follower'] } satisfies EventWriters<OwnershipEvent>,
    },
  },
  signs: ['voucher'],
  // A voucher waits for its signature.
  queues: { voucher: { limits: QUICK_LIMITS, mpcLimits: MPC_LIMITS } },
  tasks: ['pins'],
  errors: {
    validation_error: {
      amount_not_one: 'Send the amount 1, or omit it: an ERC721 token is one unit.',
      duplicate_token: 'Name each token once.',
      invalid_cid: 'Use the CID at the end of a `metadata_uri`.',
      invalid_image_uri: 'Use an http, https, ipfs or data:image URI.',
      invalid_royalty: 'Send 0 to 50 with at most 2 decimals.',
      invalid_token_id: 'Send the token id as decimal digits.',
      network_mismatch: 'Use the network of the wallet, or omit the network.',
      not_holder: 'Send the token from the wallet that holds it.',
      not_transferable: 'The tokens of this collection are locked. Nothing can be done.',
      not_with_type: 'Omit the field, or change the type.',
      not_your_wallet: 'Use the address of one of your wallets in `from`.',
      recipient_mismatch: 'Use the recipient that the voucher names, or omit it.',
      token_not_found: 'Use the id of a token of the collection.',
      unsafe_recipient: 'Use another recipient, or the type STANDARD if you are sure.',
    },
    not_found: {
      collection_not_found: 'Check the id. It may belong to another tenant or environment.',
      metadata_not_found: 'Check the CID: this service has not published it.',
      mint_not_found: 'Check the id. It may belong to another tenant or environment.',
      token_not_found: 'Check the id. It may belong to another tenant or environment.',
      transfer_not_found: 'Check the id. It may belong to another tenant or environment.',
    },
    conflict: {
      already_redeemed: 'Nothing to do: the voucher was redeemed.',
      collection_failed: 'Create another collection: this one was not deployed.',
      collection_not_dynamic: 'Only metadata in DYNAMIC collections can be updated.',
      edition_out_of_sequence: 'Use the next edition, or omit the edition.',
      managed_contract:
        'Use the NFT routes: the service sends the transactions of this contract and signs its vouchers.',
      max_supply_reached: 'Mint fewer tokens: the collection is full.',
      minted_to_another: 'Create a new mint: a holder of the voucher redeemed it for the address in `details`.',
      metadata_frozen: 'Nothing can be done: the metadata is permanently frozen.',
      not_lazy: 'Use a LAZY mint.',
      token_in_transfer: 'Wait for the other transfer of the token.',
      token_not_minted: 'Wait until the token is minted.',
      voucher_expired: 'Create a new mint: the voucher has expired.',
      voucher_not_signed: 'Wait until the voucher is signed.',
      voucher_revoked: 'Create a new mint: the voucher was revoked.',
    },
    unavailable: {
      collection_contended: 'Try again.',
      ipfs_cid_mismatch: 'Ask the operator to check the IPFS node.',
      ipfs_unavailable: 'Try again.',
    },
  },
  timers: {
    bursar_ipfs_pin_duration_seconds: {
      help: 'Duration of pin requests to the IPFS node in seconds.',
      labels: ['outcome'],
    },
  },
  findings: [{ place: 70, kinds: { metadata_unpinned: 'metadata is not on IPFS' } }],
  tags: {
    NFT: { description: 'Create collections, mint tokens and transfer them.', place: 60 },
  },
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly nft: typeof nft
  }
}
