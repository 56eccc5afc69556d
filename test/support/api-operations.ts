/**
 * Every operation of the API as method, path and operation id, sandbox included. Operation ids are stable: generated clients
 * use them as method names, so an id in this list is never changed and never removed while its path exists.
 */
export const API_OPERATIONS = [
  'delete /v1/assets/{asset_id} removeAsset',
  'delete /v1/wallets/{wallet_id} deleteWallet',
  'delete /v1/webhooks/{webhook_id} deleteWebhook',
  'get /healthz getHealth',
  'get /metrics getMetrics',
  'get /readyz getReadiness',
  'get /v1/assets listAssets',
  'get /v1/audit/checkpoint getAuditCheckpoint',
  'get /v1/audit/events listAuditEvents',
  'get /v1/audit/proof/{event_id} getAuditProof',
  'get /v1/events listEvents',
  'get /v1/nft/collections listNftCollections',
  'get /v1/nft/collections/{collection_id} getNftCollection',
  'get /v1/nft/collections/{collection_id}/tokens listNftTokens',
  'get /v1/nft/collections/{collection_id}/tokens/{token_id} getNftToken',
  'get /v1/nft/metadata/{cid} getNftMetadata',
  'get /v1/nft/mints/{mint_id} getNftMint',
  'get /v1/nft/transfers/{transfer_id} getNftTransfer',
  'get /v1/quotas listQuotas',
  'get /v1/wallets listWallets',
  'get /v1/wallets/{wallet_id} getWallet',
  'get /v1/wallets/{wallet_id}/activity listWalletActivity',
  'get /v1/wallets/{wallet_id}/balance getWalletBalance',
  'get /v1/wallets/{wallet_id}/exports/{export_id} getWalletExport',
  'get /v1/wallets/{wallet_id}/nfts listWalletNfts',
  'get /v1/wallets/{wallet_id}/shares getWalletShares',
  'get /v1/wallets/{wallet_id}/signatures/{signature_id} getSignature',
  'get /v1/wallets/{wallet_id}/transactions listTransactions',
  'get /v1/wallets/{wallet_id}/transactions/{transaction_id} getTransaction',
  'get /v1/webhooks listWebhooks',
  'get /v1/webhooks/{webhook_id} getWebhook',
  'patch /v1/nft/collections/{collection_id}/tokens/{token_id}/metadata updateNftMetadata',
  'patch /v1/wallets/{wallet_id} updateWallet',
  'patch /v1/webhooks/{webhook_id} updateWebhook',
  'post /v1/assets registerAsset',
  'post /v1/nft/collections/create createNftCollection',
  'post /v1/nft/mint mintNft',
  'post /v1/nft/mints/{mint_id}/redeem redeemNftVoucher',
  'post /v1/nft/mints/{mint_id}/revoke revokeNftVoucher',
  'post /v1/nft/transfer transferNft',
  'post /v1/sandbox/faucet requestFaucetFunds',
  'post /v1/wallets/create createWallet',
  'post /v1/wallets/watch watchAddress',
  'post /v1/wallets/{wallet_id}/contract-call callContract',
  'post /v1/wallets/{wallet_id}/export exportWalletKey',
  'post /v1/wallets/{wallet_id}/restore restoreWallet',
  'post /v1/wallets/{wallet_id}/shares/recover recoverWalletShare',
  'post /v1/wallets/{wallet_id}/shares/refresh refreshWalletShares',
  'post /v1/wallets/{wallet_id}/sign/message signMessage',
  'post /v1/wallets/{wallet_id}/sign/typed-data signTypedData',
  'post /v1/wallets/{wallet_id}/swap createSwap',
  'post /v1/wallets/{wallet_id}/swap/quote quoteSwap',
  'post /v1/wallets/{wallet_id}/transactions/{transaction_id}/cancel cancelTransaction',
  'post /v1/wallets/{wallet_id}/transactions/{transaction_id}/speed-up speedUpTransaction',
  'post /v1/wallets/{wallet_id}/transfer createTransfer',
  'post /v1/wallets/{wallet_id}/transfer/preview previewTransfer',
  'post /v1/wallets/{wallet_id}/transfers createTransfers',
  'post /v1/webhooks createWebhook',
  'post /v1/webhooks/{webhook_id}/disable disableWebhook',
  'post /v1/webhooks/{webhook_id}/enable enableWebhook',
  'post /v1/webhooks/{webhook_id}/rotate-secret rotateWebhookSecret',
] as const

/** The operations of a document, sorted. */
export function operationsOf(document: { readonly paths?: object }): string[] {
  const paths = Object.entries((document.paths ?? {}) as Record<string, Record<string, { operationId?: string }>>)
  return paths
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    )
    .sort()
}
