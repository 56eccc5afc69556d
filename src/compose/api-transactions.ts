/** The transfer and transaction endpoints and what stands behind them. */
import { readAssetPrices } from '../assets/asset-prices.ts'
import { createResolveAsset } from '../assets/resolve-asset.ts'
import { usdValue } from '../balances/usd-value.ts'
import { nativeAsset } from '../core/assets.ts'
import { faucetRoutes } from '../faucet/routes.ts'
import type { Routes } from '../http/request.ts'
import { createChangeTransaction } from '../transactions/change-transaction.ts'
import { createEstimateGas } from '../transactions/estimate-gas.ts'
import type { FindSender } from '../transactions/prepare-transaction.ts'
import { createPreviewTransfer } from '../transactions/preview-transfer.ts'
import { createTransactionReads } from '../transactions/read-transactions.ts'
import { createRequestTransfer, type TransferPorts } from '../transactions/request-transfer.ts'
import { transactionRoutes } from '../transactions/transaction-routes.ts'
import { transferRoutes } from '../transactions/transfer-routes.ts'
import { withAddress } from '../wallets/find-wallet.ts'
import type { BalanceReads } from './api-balances.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'

/** Block times in milliseconds: they make an estimate, nothing is decided by them. */
const BLOCK_MS = { ethereum: 12_000, polygon: 2_000, binance: 750 } as const
const SANDBOX_BLOCK_MS = 1_000

export function composeTransactionRoutes(kernel: Kernel, parts: ApiParts, { availableOf }: BalanceReads): Routes[] {
  const { config, pool, log, wakeUps, chainOf } = kernel
  const reads = createTransactionReads({
    pool,
    wakeUps,
    confirmationsOf: (chainId) => chainOf(chainId).settings.confirmations,
  })
  const ports = transferPorts(kernel, parts)
  const requestTransfer = createRequestTransfer(ports)
  const { findReplay } = parts
  const changeTransaction = createChangeTransaction({ log, reads, findReplay, newId: kernel.newId })
  const previewTransfer = createPreviewTransfer({
    ...ports,
    availableOf,
    estimateGas: (chainId, requests) => createEstimateGas(chainOf(chainId).client, chainOf(chainId).code)(requests),
    hasCode: async (chainId, address) => (await chainOf(chainId).code.haveCode([address]))[0] === true,
    async hasSentTo(walletId, to) {
      const { rowCount } = await pool.query({
        name: 'has_sent_to',
        text: 'SELECT FROM transactions WHERE wallet_id = $1 AND to_address = $2 LIMIT 1',
        values: [walletId, to],
      })
      return rowCount === 1
    },
    async usdOf({ network, chainId }, wei) {
      const native = nativeAsset(network, chainId)
      const priceOf = await readAssetPrices(pool, [chainId])
      return usdValue(
        wei,
        native.decimals,
        priceOf(chainId, { ...native, name: native.symbol, source: 'native' })?.usd ?? null,
      )
    },
  })
  return [
    transferRoutes({
      requestTransfer,
      previewTransfer,
      findReplay,
      reads,
      signWaitMs: config.signWaitMs,
    }),
    transactionRoutes({ reads, changeTransaction, findSender: ports.findSender }),
    ...(config.sandbox ? [faucetRoutes({ pool, requestTransfer, reads })] : []),
  ]
}

function transferPorts({ config, log, newId, chainOf }: Kernel, { books, findWallet }: ApiParts): TransferPorts {
  const resolve = createResolveAsset(books)
  const findSender: FindSender = async (owner, walletId) => withAddress(await findWallet(owner, walletId))
  return {
    log,
    newId,
    findSender,
    resolveAsset: (asset, sender, tenantId) => resolve(tenantId, chainOf(sender.chainId).settings, asset),
    quoteOf: (chainId) => chainOf(chainId).fees.quote(),
    completionMs(chainId) {
      const { network, confirmations } = chainOf(chainId).settings
      return (confirmations + 1) * (config.sandbox ? SANDBOX_BLOCK_MS : BLOCK_MS[network])
    },
  }
}
