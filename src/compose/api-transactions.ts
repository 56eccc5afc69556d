/** The transfer and transaction routes and their dependencies. */
import { readAssetPrices } from '../assets/asset-prices.ts'
import { nativeAsset } from '../core/assets.ts'
import { usdValue } from '../core/usd-value.ts'
import type { Routes } from '../http/request.ts'
import { createChangeTransaction } from '../transactions/change-transaction.ts'
import { createEstimateGas } from '../transactions/estimate-gas.ts'
import { createLaneReads } from '../transactions/lanes.ts'
import { createEmptyGas, createPlainGas } from '../transactions/plain-gas.ts'
import { createPreviewTransfer } from '../transactions/preview-transfer.ts'
import { createTransactionReadsAt } from '../transactions/read-transactions-at.ts'
import { createRefusedByToken } from '../transactions/refused-by-token.ts'
import { createRequestTransfers } from '../transactions/request-transfers.ts'
import { TRANSACTIONS } from '../transactions/sql.ts'
import { transactionRoutes } from '../transactions/transaction-routes.ts'
import { transferRoutes } from '../transactions/transfer-routes.ts'
import type { BalanceReads } from './api-balances.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'
import type { TransactionParts } from './transaction-parts.ts'

export function composeTransactionRoutes(
  kernel: Kernel,
  { accept }: ApiParts,
  { ports, reads, room, requestTransfer }: TransactionParts,
  { availableOf }: BalanceReads,
): Routes[] {
  const { config, pool, log, chainOf } = kernel
  const changeTransaction = createChangeTransaction({
    log,
    accept,
    reads,
    newId: kernel.newId,
    quoteOf: ports.quoteOf,
    capOf: (chainId) => chainOf(chainId).settings.maxFeePerGasWei,
    emptyGas: createEmptyGas(chainOf),
    lanes: createLaneReads(pool),
  })
  const previewTransfer = createPreviewTransfer({
    ...ports,
    ...room,
    availableOf,
    estimateGas(chainId, requests) {
      const chain = chainOf(chainId)
      return createEstimateGas(chain.foreign, chain.code, createPlainGas(chain))(requests)
    },
    refusedByToken: (chainId, requests) => createRefusedByToken(chainOf(chainId).foreign)(requests),
    async hasSentTo(walletId, to) {
      const { rowCount } = await pool.query({
        name: 'has_sent_to',
        text: `SELECT FROM ${TRANSACTIONS} AS transactions WHERE wallet_id = $1 AND to_address = $2 LIMIT 1`,
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
      requestTransfers: createRequestTransfers(ports),
      previewTransfer,
      reads,
      signWaitMs: config.signWaitMs,
    }),
    transactionRoutes({
      reads,
      readsAt: createTransactionReadsAt({ log, reads, clock: kernel.clock }),
      changeTransaction,
      findSender: ports.findSender,
    }),
  ]
}
