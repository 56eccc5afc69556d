/**
 * Who may append which event, and the tables whose rows follow from a stream. The only place that knows: `npm run migrate` hands it
 * to the database, which refuses every other append. A new event is one line here, and without it the build fails.
 */
import type { ApiKeyEvent } from '../../access/events.ts'
import type { AssetEvent } from '../../assets/events.ts'
import type { BalanceEvent } from '../../balances/events.ts'
import type { ChainEvent } from '../../follower/events.ts'
import type { MpcKeyEvent } from '../../mpc-keys/events.ts'
import type { CollectionEvent } from '../../nft/collections/events.ts'
import type { OwnershipEvent } from '../../nft/ownership/events.ts'
import type { MintEvent } from '../../nft/tokens/mint-events.ts'
import type { TokenEvent } from '../../nft/tokens/token-events.ts'
import type { NftTransferEvent } from '../../nft/transfers/events.ts'
import type { ExportEvent } from '../../recovery/events.ts'
import type { SignatureEvent } from '../../signatures/events.ts'
import type { TransactionEvent } from '../../transactions/events.ts'
import type { WalletEvent } from '../../wallets/events.ts'
import type { KeyIndexesEvent } from '../../wallets/key-indexes-events.ts'
import type { DatabaseRole, Table } from './roles.ts'

export type StreamWriters = {
  /** Tables whose rows and holds follow from these events: whoever may append one of the events may write them with it. */
  readonly rows: readonly Table[]
  readonly events: Readonly<Record<string, readonly DatabaseRole[]>>
}

type Writers<Event extends { readonly type: string }> = {
  readonly rows: readonly Table[]
  readonly events: Readonly<Record<Event['type'], readonly DatabaseRole[]>>
}

const apikey: Writers<ApiKeyEvent> = {
  rows: ['api_keys'],
  events: { ApiKeyIssued: ['operator'], ApiKeyRevoked: ['operator'] },
}

const asset: Writers<AssetEvent> = { rows: ['assets'], events: { AssetRegistered: ['api'], AssetRemoved: ['api'] } }

const balance: Writers<BalanceEvent> = {
  rows: ['balances'],
  events: { BalanceChanged: ['follower'], BalanceReorged: ['follower'] },
}

const chain: Writers<ChainEvent> = {
  rows: ['chain_blocks', 'chain_cursors', 'foreign_nonces', 'outside_transactions'],
  events: { FollowerAdvanced: ['follower'], ReorgDetected: ['follower'] },
}

const collection: Writers<CollectionEvent> = {
  rows: ['nft_collections', 'nft_metadata', 'nft_pins'],
  events: { CollectionRequested: ['api'] },
}

const walletExport: Writers<ExportEvent> = {
  rows: ['wallet_exports'],
  events: { WalletExportRequested: ['api'], WalletExported: ['signer'], WalletExportRefused: ['signer'] },
}

const keyindexes: Writers<KeyIndexesEvent> = {
  rows: [],
  events: { KeyIndexAllotted: ['signer'], KeyIndexSkipped: ['signer'] },
}

const mint: Writers<MintEvent> = {
  rows: ['nft_metadata', 'nft_mints', 'nft_pins', 'nft_tokens', 'nft_vouchers'],
  events: {
    MintRecorded: ['api'],
    VoucherRequested: ['api'],
    VoucherSigned: ['signer'],
    VoucherRedemptionRequested: ['api'],
    VoucherRevocationRecorded: ['api'],
  },
}

const mpckey: Writers<MpcKeyEvent> = {
  rows: ['mpc_keys', 'mpc_refreshes'],
  events: {
    MpcKeyGenerated: ['signer'],
    MpcKeyAssigned: ['signer'],
    MpcSharesRefreshRequested: ['api', 'dispatcher', 'signer'],
    MpcSharesRefreshed: ['signer'],
    MpcSharesRefreshFailed: ['signer'],
    MpcPartyBanned: ['signer'],
    MpcPartyAccused: ['signer'],
  },
}

const nftx: Writers<NftTransferEvent> = {
  rows: ['nft_transfer_items', 'nft_transfers'],
  events: { NftTransferRecorded: ['api'] },
}

const ownership: Writers<OwnershipEvent> = {
  rows: ['nft_owners'],
  events: { TokensMoved: ['follower'], OwnershipReorged: ['follower'] },
}

const signature: Writers<SignatureEvent> = {
  rows: ['signatures'],
  events: { MessageSignatureRequested: ['api'], TypedDataSignatureRequested: ['api'], SignatureMade: ['signer'] },
}

const token: Writers<TokenEvent> = {
  rows: ['nft_metadata', 'nft_pins', 'nft_token_updates'],
  events: { TokenMetadataChanged: ['api'], TokenFrozen: ['api'] },
}

const transaction: Writers<TransactionEvent> = {
  rows: ['transactions', 'wallet_holds'],
  events: {
    TransferRequested: ['api'],
    CollectionDeployRequested: ['api'],
    MintRequested: ['api'],
    NftTransferRequested: ['api'],
    TokenUpdateRequested: ['api'],
    VoucherRevocationRequested: ['api'],
    CheckpointAnchorRequested: ['operator'],
    NonceFillRequested: ['signer'],
    TransactionSigned: ['signer'],
    TransactionReplaced: ['signer'],
    TransactionSubmitted: ['submitter'],
    TransactionAwaitingFunds: ['submitter'],
    TransactionMined: ['follower'],
    TransactionReorged: ['follower'],
    SettlementRevoked: ['follower'],
    TransactionConfirmed: ['follower'],
    TransactionReverted: ['follower'],
    NonceConsumedExternally: ['follower'],
    // A lane gives up what it cannot sign; the follower gives up a nonce that others take again and again.
    TransactionFailed: ['signer', 'follower'],
    // A submitter takes back what can no longer be valid when it is mined.
    CancellationRequested: ['api', 'submitter'],
    SpeedUpRequested: ['api'],
    // The API ends what was never signed; the follower what a block shows to be cancelled.
    TransactionCancelled: ['api', 'follower'],
  },
}

const wallet: Writers<WalletEvent> = {
  rows: ['wallets'],
  events: {
    WalletRequested: ['api'],
    WalletCreated: ['signer'],
    WatchStarted: ['api'],
    WalletRelabelled: ['api'],
    NotificationsChanged: ['api'],
    WalletArchived: ['api'],
    WalletRestored: ['api'],
  },
}

/** By category: streams are named `<category>-<id>`. */
export const EVENT_WRITERS: Readonly<Record<string, StreamWriters>> = {
  apikey,
  asset,
  balance,
  chain,
  collection,
  export: walletExport,
  keyindexes,
  mint,
  mpckey,
  nftx,
  ownership,
  signature,
  token,
  transaction,
  wallet,
}
