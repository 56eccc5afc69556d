/**
 * The history of the golden log: every event type in every version ever written, in realistic streams. Append new types
 * and versions at the end; never change existing entries.
 */
import { readFileSync } from 'node:fs'
import type { Metadata } from '../../src/core/messages.ts'
import { EXPORT_FORMAT, EXPORT_VERSION } from '../../src/event-log/export-format.ts'
import { canonicalEvent, chainHash } from '../../src/event-log/hash-chain.ts'
import { POLICIES } from './golden-policies.ts'
import { API_KEYS, RESTORES } from './golden-restores.ts'
import { OBSERVED_TRANSFERS, VOUCHER_USES } from './golden-transfers.ts'
import { MANY_WALLETS } from './golden-wallets.ts'

type Step = readonly [
  stream: string,
  event: string,
  patch?: Readonly<Record<string, unknown>>,
  key?: Metadata['idempotency'],
]

const HASHES = { first: '0xabababababababababababababababababababababababababababababababab' }
const key = (name: string, resourceId?: string) => ({
  key: name,
  fingerprint: `of-${name}`,
  ...(resourceId === undefined ? {} : { resourceId }),
})
const tx = (name: string) => `transaction-tx_${name}`
/** A token that the other streams do not use. */
function removable(n: number) {
  const contractAddress = `0x${String(n).repeat(40)}`
  const assetId = `eip155:1000001/erc20:${contractAddress}`
  return { stream: `asset-${assetId}@acme`, ids: { assetId, contractAddress } }
}
const PLACE = { chainId: 1, contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3' }
const ETH = { assetId: 'eip155:1/slip44:60', symbol: 'ETH', decimals: 18, contract: null }
const signed = (nonce: number, hash: string) => ({ nonce, hash })
const token = (tokenId: string, transactionId: string | null) => ({
  tokenId,
  recipient: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  amount: '1',
  metadata: { name: `Lighthouse #${tokenId}` },
  cid: `bafkreigolden${tokenId}`,
  transactionId,
})
const lazy = (tokenId: string) => ({ mintingType: 'LAZY', tokens: [token(tokenId, null)] })

/** The steps of each append. */
const HISTORY: readonly (readonly Step[])[] = [
  [['apikey-key_1', 'ApiKeyIssued.v1']],
  [['wallet-wal_1', 'WalletRequested.v1', { chainId: 1 }, key('wallet')]],
  [
    ['keyindexes-acme', 'KeyIndexAllotted.v1', { index: 0, walletId: 'wal_1' }],
    ['wallet-wal_1', 'WalletCreated.v1'],
  ],
  [['keyindexes-acme', 'KeyIndexSkipped.v1', { index: 1 }]],
  [['mpckey-mpk_1', 'MpcKeyGenerated.v1']],
  [['wallet-wal_2', 'WalletRequested.v2', { externalId: 'customer-43' }, key('mpc-wallet')]],
  [
    ['mpckey-mpk_1', 'MpcKeyAssigned.v1', { walletId: 'wal_2' }],
    ['wallet-wal_2', 'WalletCreated.v2', { key: { kind: 'mpc', keyId: 'mpk_1' } }],
  ],
  [['mpckey-mpk_1', 'MpcSharesRefreshRequested.v1', { refreshId: 'rfr_1' }, key('refresh')]],
  [['mpckey-mpk_1', 'MpcSharesRefreshFailed.v1', { refreshId: 'rfr_1' }]],
  [['mpckey-mpk_1', 'MpcSharesRefreshRequested.v1', { refreshId: 'rfr_2' }]],
  [['mpckey-mpk_1', 'MpcSharesRefreshed.v1', { refreshId: 'rfr_2', attemptId: 'rfa_1' }]],
  [['mpckey-mpk_1', 'MpcPartyBanned.v1', { epoch: 1 }]],
  [['wallet-wal_3', 'WatchStarted.v1', {}, key('watch')]],
  [['wallet-wal_3', 'NotificationsChanged.v1']],
  [['wallet-wal_3', 'WalletRelabelled.v1']],
  [['wallet-wal_3', 'WalletArchived.v1']],
  [['wallet-wal_3', 'WalletRestored.v1']],
  [
    [
      'asset-eip155:1000001/erc20:0x5FbDB2315678afecb367f032d93F642f64180aa3@acme',
      'AssetRegistered.v1',
      {},
      key('asset'),
    ],
  ],
  [['chain-ethereum-mainnet', 'FollowerAdvanced.v1']],
  [
    ['balance-wal_1', 'BalanceChanged.v1', { asset: ETH, balance: '1000000000000000000', blockNumber: 40 }],
    ['balance-wal_1', 'BalanceChanged.v1'],
  ],
  [['balance-wal_1', 'BalanceChanged.v1', { asset: ETH, balance: '5000000000000000000' }]],
  [
    ['balance-wal_1', 'BalanceReorged.v1', { asset: ETH }],
    ['chain-ethereum-mainnet', 'ReorgDetected.v1'],
  ],
  // Submitted, bumped, mined, orphaned, mined again, confirmed.
  [[tx('1'), 'TransferRequested.v1', {}, key('transfer')]],
  [[tx('1'), 'TransactionSigned.v1', signed(0, HASHES.first)]],
  [[tx('1'), 'TransactionAwaitingFunds.v1']],
  [[tx('1'), 'TransactionSubmitted.v1']],
  [[tx('1'), 'SpeedUpRequested.v1', {}, key('speed-up', 'req_1')]],
  [[tx('1'), 'TransactionReplaced.v1', { nonce: 0, purpose: 'speed_up' }]],
  [[tx('1'), 'TransactionMined.v1']],
  [[tx('1'), 'TransactionReorged.v1']],
  [[tx('1'), 'TransactionMined.v1', { blockNumber: 101 }]],
  [[tx('1'), 'TransactionConfirmed.v1', { blockNumber: 101 }]],
  // A foreign transaction used its nonce; with the next one it reverted.
  [[tx('2'), 'TransferRequested.v2', { referenceId: null }]],
  [[tx('2'), 'TransactionSigned.v1', signed(1, '0x0201')]],
  [[tx('2'), 'NonceConsumedExternally.v1', { nonce: 1 }]],
  [[tx('2'), 'TransactionSigned.v1', signed(2, '0x0202')]],
  [[tx('2'), 'TransactionMined.v1', { hash: '0x0202', succeeded: false }]],
  [[tx('2'), 'TransactionReverted.v1']],
  // Cancelled before it was signed; the key of the cancel request is only identified by its place.
  [[tx('3'), 'TransferRequested.v2', { memo: 'é 🗼' }]],
  [
    [tx('3'), 'CancellationRequested.v1', {}, key('cancel')],
    [tx('3'), 'TransactionCancelled.v1', {}, key('cancel')],
  ],
  [[tx('4'), 'TransferRequested.v2']],
  [[tx('4'), 'TransactionFailed.v1']],
  // Pending: it holds its maximum cost.
  [[tx('5'), 'TransferRequested.v2', { amount: '250000000000000000' }]],
  [[tx('5'), 'TransactionSigned.v1', signed(3, '0x0501')]],
  [
    [tx('6'), 'CollectionDeployRequested.v1', {}, key('collection')],
    ['collection-col_1', 'CollectionRequested.v1', {}, key('collection')],
  ],
  [
    [tx('7'), 'MintRequested.v1', {}, key('mint')],
    ['mint-mint_1', 'MintRecorded.v1', { tokens: [token('7', 'tx_7'), token('8', 'tx_7')] }, key('mint')],
  ],
  [
    ['mint-mint_2', 'MintRecorded.v1', lazy('9'), key('lazy')],
    ['mint-mint_2', 'VoucherRequested.v1', PLACE, key('lazy')],
  ],
  [['mint-mint_2', 'VoucherSigned.v1']],
  [
    [tx('8'), 'MintRequested.v1', { subject: { type: 'mint', id: 'mint_2' } }, key('redeem')],
    ['mint-mint_2', 'VoucherRedemptionRequested.v1', { transactionId: 'tx_8' }, key('redeem')],
  ],
  [
    ['mint-mint_3', 'MintRecorded.v1', lazy('10')],
    ['mint-mint_3', 'VoucherRequested.v1', PLACE],
  ],
  [
    [tx('9'), 'VoucherRevocationRequested.v1', { subject: { type: 'mint', id: 'mint_3' } }, key('revoke')],
    ['mint-mint_3', 'VoucherRevocationRecorded.v1', { transactionId: 'tx_9' }, key('revoke')],
  ],
  [
    [tx('10'), 'TokenUpdateRequested.v1', {}, key('update')],
    ['token-col_1-7', 'TokenMetadataChanged.v1', { transactionId: 'tx_10' }, key('update')],
  ],
  [
    [tx('11'), 'TokenUpdateRequested.v1'],
    ['token-col_1-7', 'TokenFrozen.v1', { transactionId: 'tx_11' }],
  ],
  [['ownership-col_1', 'TokensMoved.v1', PLACE]],
  [['ownership-col_1', 'OwnershipReorged.v1', PLACE]],
  [['ownership-col_1', 'TokensMoved.v1', { ...PLACE, blockNumber: 43 }]],
  [
    [tx('12'), 'NftTransferRequested.v1', {}, key('nft-transfer')],
    ['nftx-nftx_1', 'NftTransferRecorded.v1', {}, key('nft-transfer')],
  ],
  [['signature-sig_1', 'MessageSignatureRequested.v1', {}, key('message')]],
  [['signature-sig_1', 'SignatureMade.v1']],
  [['signature-sig_2', 'TypedDataSignatureRequested.v1', {}, key('typed-data')]],
  [['export-exp_1', 'WalletExportRequested.v1', {}, key('export')]],
  [['export-exp_1', 'WalletExported.v1']],
  [['export-exp_2', 'WalletExportRequested.v1']],
  [['export-exp_2', 'WalletExportRefused.v1']],
  [['apikey-key_1', 'ApiKeyRevoked.v1']],
  // Quotes are recorded from here on. Confirmed, orphaned by a deep reorg, mined and confirmed again.
  [[tx('13'), 'TransferRequested.v3', {}, key('quoted')]],
  [[tx('13'), 'TransactionSigned.v2', signed(4, HASHES.first)]],
  [[tx('13'), 'TransactionReplaced.v2', { nonce: 4 }]],
  [[tx('13'), 'TransactionSubmitted.v1']],
  [[tx('13'), 'TransactionMined.v1']],
  [[tx('13'), 'TransactionConfirmed.v1']],
  [[tx('13'), 'SettlementRevoked.v1']],
  [[tx('13'), 'TransactionMined.v1', { blockNumber: 102 }]],
  [[tx('13'), 'TransactionConfirmed.v1', { blockNumber: 102 }]],
  [
    [tx('14'), 'CollectionDeployRequested.v2', {}, key('collection-2')],
    [
      'collection-col_2',
      'CollectionRequested.v1',
      { contractAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', transactionId: 'tx_14' },
      key('collection-2'),
    ],
  ],
  [
    [tx('15'), 'MintRequested.v2'],
    ['mint-mint_4', 'MintRecorded.v1', { tokens: [token('11', 'tx_15')] }],
  ],
  [
    ['mint-mint_5', 'MintRecorded.v1', lazy('12')],
    ['mint-mint_5', 'VoucherRequested.v1', PLACE],
  ],
  [
    [tx('16'), 'VoucherRevocationRequested.v2', { subject: { type: 'mint', id: 'mint_5' } }],
    ['mint-mint_5', 'VoucherRevocationRecorded.v1', { transactionId: 'tx_16' }],
  ],
  [
    [tx('17'), 'TokenUpdateRequested.v2', { subject: { type: 'token', id: 'col_1/8' } }],
    ['token-col_1-8', 'TokenMetadataChanged.v1', { tokenId: '8', transactionId: 'tx_17' }],
  ],
  [
    [tx('18'), 'NftTransferRequested.v2', { subject: { type: 'nft_transfer', id: 'nftx_2' } }],
    [
      'nftx-nftx_2',
      'NftTransferRecorded.v1',
      { items: [{ tokenId: '1', to: PLACE.contract, amount: '1', transactionId: 'tx_18', sequence: 2 }] },
    ],
  ],
  // A nonce without a transaction is filled, so that later ones can be mined.
  [[tx('19'), 'NonceFillRequested.v1']],
  [[tx('19'), 'TransactionSigned.v2', signed(5, '0x1901')]],
  // An operator anchors a signed checkpoint of the log on chain.
  [[tx('20'), 'CheckpointAnchorRequested.v1', { subject: { type: 'checkpoint', id: '3' } }, key('anchor')]],
  // A token is registered and removed; another one is registered again afterwards.
  [[removable(1).stream, 'AssetRegistered.v1', removable(1).ids, key('asset-1')]],
  [[removable(1).stream, 'AssetRemoved.v1', removable(1).ids]],
  [[removable(2).stream, 'AssetRegistered.v1', removable(2).ids]],
  [[removable(2).stream, 'AssetRemoved.v1', removable(2).ids]],
  [[removable(2).stream, 'AssetRegistered.v1', { ...removable(2).ids, registeredAt: '2026-11-22T12:00:01.000Z' }]],
  // A party accuses another of failing a check.
  [['mpckey-mpk_1', 'MpcPartyAccused.v1', { epoch: 1 }]],
  // Logs are recorded from here on.
  [[tx('15'), 'TransactionSigned.v2', signed(6, '0x1501')]],
  [[tx('15'), 'TransactionMined.v2', { hash: '0x1501', blockNumber: 103 }]],
  // A contract call, with the tokens that it takes.
  [[tx('21'), 'ContractCallRequested.v1', {}, key('contract-call')]],
  // A swap with its approval, in one append.
  [
    [tx('22'), 'TokenApprovalRequested.v1', {}, key('swap')],
    [tx('23'), 'SwapRequested.v1', {}, key('swap')],
    ['swap-swap_1', 'SwapRecorded.v1', {}, key('swap')],
  ],
  [[tx('22'), 'TransactionSigned.v2', signed(7, '0x2201')]],
  [[tx('22'), 'TransactionMined.v2', { hash: '0x2201', blockNumber: 104, logs: null }]],
  [[tx('23'), 'TransactionSigned.v2', signed(8, '0x2301')]],
  [[tx('23'), 'TransactionMined.v2', { hash: '0x2301', blockNumber: 105 }]],
  [['webhook-whk_1', 'WebhookCreated.v1', {}, key('webhook')]],
  [['webhook-whk_1', 'WebhookChanged.v1']],
  [['webhook-whk_1', 'WebhookSecretRotated.v1', {}, key('rotation')]],
  [['webhook-whk_1', 'WebhookDisabled.v1']],
  [['webhook-whk_1', 'WebhookEnabled.v1']],
  [['webhook-whk_1', 'WebhookDeleted.v1']],
  ...OBSERVED_TRANSFERS,
  [['webhook-whk_2', 'WebhookCreated.v1', { secretId: 'whs_3' }, key('second-webhook')]],
  [['webhook-whk_2', 'WebhookTested.v1', {}, key('test')]],
  [['webhook-whk_2', 'WebhookReplayRequested.v1', {}, key('replay')]],
  ...RESTORES,
  [['chain-ethereum-mainnet', 'ReorgAccepted.v1']],
  ...VOUCHER_USES,
  [['delivery-dlv_1', 'WebhookDeliveryGivenUp.v1']],
  ...API_KEYS,
  ...POLICIES,
  ...MANY_WALLETS,
]

const START = Date.parse('2026-11-21T12:00:00.000Z')
const FIRST_ID = 1_000
const MOST_STEPS = 3

/** The events of the history in the format of an export, in reading order. */
export function goldenEvents(): string[] {
  const heads = new Map<string, { version: number; hash: string }>()
  return HISTORY.flatMap((commit, n) =>
    commit.map((step, i) => lineOf(step, n, placeOf(n) * MOST_STEPS + i + 1, heads)),
  )
}

function lineOf(
  [streamId, name, patch = {}, idempotency]: Step,
  n: number,
  position: number,
  heads: Map<string, { version: number; hash: string }>,
): string {
  const golden = JSON.parse(readFileSync(new URL(`../golden/events/${name}.json`, import.meta.url), 'utf8'))
  const { version: before, hash: previous } = heads.get(streamId) ?? { version: 0, hash: '' }
  const event = {
    streamId,
    streamVersion: before + 1,
    type: golden.type,
    schemaVersion: golden.schema_version,
    data: { ...golden.data, ...patch },
    metadata: { tenantId: 'acme', actor: 'golden', ...(idempotency ? { idempotency } : {}) },
    recordedAt: new Date(START + n * 1_000).toISOString(),
  }
  const canonical = canonicalEvent(event)
  const hash = chainHash(previous, canonical)
  heads.set(streamId, { version: event.streamVersion, hash })
  const place = { position: String(position), transaction_id: String(FIRST_ID + n) }
  return JSON.stringify({ ...place, ...JSON.parse(canonical), hash })
}

/** In each group of five commits the fourth began after the fifth, so positions are not the reading order. */
function placeOf(n: number): number {
  return n + (n % 5 === 3 ? 1 : n % 5 === 4 ? -1 : 0)
}

const WHOLE = { whole: true, from: null, to: null, tenant: null }
export const GOLDEN_HEADER = JSON.stringify({ format: EXPORT_FORMAT, version: EXPORT_VERSION, ...WHOLE })
