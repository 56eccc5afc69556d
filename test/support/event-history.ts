/** A short history of a tenant in one environment: a stream of every kind, with the data that shows its environment. */
import type { Pool } from 'pg'
import type { Environment } from '../../src/core/networks.ts'

type Row = readonly [streamId: string, version: number, type: string, data: Readonly<Record<string, unknown>>]

/** In append order. Every stream's id ends with `_<mark>`. */
export function historyOf(environment: Environment, mark: string): readonly Row[] {
  const walletId = `wal_${mark}`
  const collectionId = `col_${mark}`
  return [
    [`apikey-key_${mark}`, 1, 'ApiKeyIssued', { environment, digest: 'digest-of-the-key' }],
    [`apikey-key_${mark}`, 2, 'ApiKeyRevoked', {}],
    [`wallet-${walletId}`, 1, 'WalletRequested', { environment, label: 'label-of-the-wallet' }],
    [`wallet-${walletId}`, 2, 'WalletCreated', { address: '0x01' }],
    [`balance-${walletId}`, 1, 'BalanceChanged', { balance: '17' }],
    [`balance-${walletId}`, 2, 'BalanceChanged', { balance: '18' }],
    [`mpckey-mpk_${mark}`, 2, 'MpcKeyAssigned', { walletId }],
    [`mpckey-mpk_${mark}`, 3, 'MpcSharesRefreshed', { epoch: 1 }],
    [`transaction-tx_${mark}`, 1, 'TransferRequested', { environment, walletId, memo: 'memo-of-the-transfer' }],
    [`transaction-tx_${mark}`, 2, 'TransactionSigned', { rawTransaction: 'bytes-that-anybody-can-send' }],
    [`signature-sig_${mark}`, 1, 'MessageSignatureRequested', { environment, walletId }],
    [`signature-sig_${mark}`, 2, 'SignatureMade', { signature: 'the-signature' }],
    [`asset-acme_${mark}`, 1, 'AssetRegistered', { environment, symbol: 'SYM' }],
    [`collection-${collectionId}`, 1, 'CollectionRequested', { environment, walletId }],
    [`mint-mint_${mark}`, 1, 'MintRecorded', { collectionId, mintingType: 'LAZY' }],
    [`mint-mint_${mark}`, 2, 'VoucherSigned', { signature: 'the-voucher' }],
    [`ownership-${collectionId}`, 1, 'TokensMoved', { chainId: 1 }],
    [`token-${collectionId}-1_${mark}`, 1, 'TokenFrozen', { collectionId }],
    [`nftx-nftx_${mark}`, 1, 'NftTransferRecorded', { environment, collectionId }],
    [`export-exp_${mark}`, 1, 'WalletExportRequested', { environment, walletId }],
    [`export-exp_${mark}`, 2, 'WalletExported', { walletId, ciphertextSha256: 'sha-of-the-export' }],
    [`request-req_${mark}`, 1, 'RequestChangedNothing', { resourceId: `tx_${mark}`, environment }],
  ]
}

/** Like an append, without its checks. */
export async function insertEvent(
  pool: Pool,
  streamId: string,
  version: number,
  type: string,
  data: object,
  tenantId = 'acme',
): Promise<void> {
  const metadata = { tenantId, actor: 'test', idempotency: { key: 'key-of-a-client', fingerprint: 'digest-of-a-body' } }
  await pool.query(
    `INSERT INTO events (stream_id, stream_version, type, schema_version, data, metadata, recorded_at, hash)
     VALUES ($1, $2, $3, 1, $4, $5, now(), decode(repeat('ab', 32), 'hex'))`,
    [streamId, version, type, JSON.stringify(data), JSON.stringify(metadata)],
  )
}
