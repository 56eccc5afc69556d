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
  scopes: [READ_SCOPE, 'nft:write'],
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
  // A voucher waits for its signature.
  queues: { voucher: { limits: QUICK_LIMITS, mpcLimits: MPC_LIMITS } },
  tasks: ['pins'],
} as const satisfies Declaration

declare module '../core/registry.ts' {
  interface Declared {
    readonly nft: typeof nft
  }
}
