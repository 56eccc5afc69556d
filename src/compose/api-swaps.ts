/** The routes of swaps and their dependencies. */
import { readAssetPrices } from '../assets/asset-prices.ts'
import { createResolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { BursarError, Conflict } from '../core/errors.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Routes } from '../http/request.ts'
import { createMarkets } from '../swaps/markets.ts'
import { createPoolBook } from '../swaps/pools.ts'
import { createKeepQuote, createReadQuote } from '../swaps/quote-rows.ts'
import { createQuoteSwap, type QuotePorts, type QuoteSwap } from '../swaps/quote-swap.ts'
import { createRequestSwap } from '../swaps/request-swap.ts'
import { swapRoutes } from '../swaps/routes.ts'
import { requestSwapRoutes } from '../swaps/swap-routes.ts'
import { createSwapRows } from '../swaps/swap-rows.ts'
import { WALLETS } from '../wallets/sql.ts'
import type { BalanceReads } from './api-balances.ts'
import type { ApiParts } from './api-parts.ts'
import type { Kernel } from './kernel.ts'
import type { TransactionParts } from './transaction-parts.ts'

export function composeSwapRoutes(
  kernel: Kernel,
  parts: ApiParts,
  transactions: TransactionParts,
  balances: BalanceReads,
): { readonly routes: Routes; readonly readiness: ReadinessCheck } {
  const { pool, metrics, chainOf } = kernel
  const markets = createMarkets({ chainOf, now: () => performance.now() })
  const quoteSwap = createQuoteSwap({
    ...quotePorts(kernel, parts, transactions, balances),
    marketOf: markets.marketOf,
  })
  const quoting = { quoteSwap: counted(quoteSwap, metrics), keepQuote: createKeepQuote(pool) }
  const rows = createSwapRows(pool)
  const requestSwap = createRequestSwap({
    ...transactions.ports,
    ...quoting,
    clock: kernel.clock,
    nodeOf: chainOf,
    readQuote: createReadQuote(pool),
    rows,
  })
  const routes = [
    swapRoutes(quoting),
    requestSwapRoutes({ requestSwap, rows, reads: transactions.reads, signWaitMs: kernel.config.signWaitMs }),
  ]
  return {
    routes: (app) => {
      for (const add of routes) add(app)
    },
    // Everything else works without exchanges.
    readiness: { name: 'swaps', check: async () => undefined, warning: async () => markets.problem() },
  }
}

function quotePorts(
  kernel: Kernel,
  { books }: ApiParts,
  { ports }: TransactionParts,
  { availableOf }: BalanceReads,
): Omit<QuotePorts, 'marketOf'> {
  const { config, pool, clock, newId, chainOf } = kernel
  const resolve = createResolveAsset(books)
  const requireReadable = createRequireReadable(pool)
  return {
    findSender: ports.findSender,
    quoteOf: ports.quoteOf,
    newId,
    clock,
    availableOf,
    nodeOf: chainOf,
    pools: createPoolBook(() => performance.now()),
    ttlMs: config.swap.quoteTtlMs,
    maxSlippageBps: config.swap.maxSlippageBps,
    async requireActive(walletId) {
      const { rowCount } = await pool.query({
        name: 'wallet_is_archived',
        text: `SELECT FROM ${WALLETS} AS wallets WHERE wallet_id = $1 AND status = 'archived'`,
        values: [walletId],
      })
      if (rowCount !== 0) throw new Conflict('wallet_archived', 'The wallet is archived: restore it to swap with it.')
    },
    async resolveAsset(name, field, { chainId }, tenantId) {
      const found = await resolve(tenantId, chainOf(chainId).settings, name, field)
      const [priceOf] = await Promise.all([readAssetPrices(pool, [chainId]), requireReadable(chainId, found)])
      const { assetId, symbol, decimals, contract } = found
      return { assetId, symbol, decimals, contract, usd: priceOf(chainId, found)?.usd ?? null }
    },
  }
}

/** Counts the outcome of each quote. */
function counted(quoteSwap: QuoteSwap, metrics: Kernel['metrics']): QuoteSwap {
  return async (request, owner) => {
    try {
      const quote = await quoteSwap(request, owner)
      const { network, route } = quote
      metrics.countSwapQuote('quoted')
      metrics.countSwapRoute({ network, venue: route.type === 'pools' ? route.venue : route.type })
      return quote
    } catch (error) {
      const outcome = error instanceof BursarError ? (error.items[0]?.code ?? error.code) : 'internal_error'
      metrics.countSwapQuote(outcome)
      throw error
    }
  }
}
