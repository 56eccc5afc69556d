/** The routes of swaps and their dependencies. */
import { createAssetIndex } from '../assets/asset-index.ts'
import { type PriceOf, readAssetPrices } from '../assets/asset-prices.ts'
import { createResolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { createExactTokens } from '../chain/exact-tokens.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { ReadinessCheck } from '../http/health.ts'
import type { Routes } from '../http/request.ts'
import { type Feeds, feedPrice } from '../swaps/feeds.ts'
import { createGuards, type Guards } from '../swaps/guards.ts'
import { createMarkets } from '../swaps/markets.ts'
import { createPoolBook } from '../swaps/pools.ts'
import { createRequireQuoteRoom } from '../swaps/quote-room.ts'
import { createKeepQuote, createReadQuote } from '../swaps/quote-rows.ts'
import { createQuoteSwap, type QuotePorts } from '../swaps/quote-swap.ts'
import { createRequestSwap, type SwapPorts } from '../swaps/request-swap.ts'
import { placeOf } from '../swaps/route.ts'
import { swapRoutes } from '../swaps/routes.ts'
import { requestSwapRoutes } from '../swaps/swap-routes.ts'
import { createSwapRows } from '../swaps/swap-rows.ts'
import { createZeroX } from '../swaps/zero-x.ts'
import { createRequireActive } from '../wallets/require-active.ts'
import type { BalanceReads } from './api-balances.ts'
import type { ApiParts } from './api-parts.ts'
import { acceptedOrRepeated, counted } from './counted.ts'
import type { Kernel } from './kernel.ts'
import type { TransactionParts } from './transaction-parts.ts'

/** What a swap needs beside the parts of every transaction. */
export type OwnSwapPorts = Omit<SwapPorts, keyof TransactionParts['ports']>

export function composeSwapRoutes(
  kernel: Kernel,
  parts: ApiParts,
  transactions: TransactionParts,
  balances: BalanceReads,
): { readonly routes: Routes; readonly readiness: ReadinessCheck; readonly ports: OwnSwapPorts } {
  const { pool, metrics, chainOf } = kernel
  const markets = createMarkets({ chainOf, now: () => performance.now() })
  const guards = createGuards(hostedChains(kernel))
  const quoteSwap = createQuoteSwap({
    ...quotePorts(kernel, parts, transactions, balances, guards),
    marketOf: markets.marketOf,
  })
  const counting = counted(quoteSwap, metrics.countSwapQuote, ({ network, route }) => {
    metrics.countSwapRoute({ network, venue: placeOf(route) })
    return 'quoted'
  })
  const quoting = { quoteSwap: counting, keepQuote: createKeepQuote(pool) }
  const rows = createSwapRows(pool)
  const ports = { ...quoting, clock: kernel.clock, nodeOf: chainOf, readQuote: createReadQuote(pool), rows }
  const requestSwap = createRequestSwap({ ...transactions.ports, ...ports })
  const countSwap = (outcome: string) => metrics.countRequested({ kind: 'swap', outcome })
  const routes = [
    swapRoutes({ ...quoting, requireRoom: createRequireQuoteRoom({ ...transactions.ports, ...transactions.room }) }),
    requestSwapRoutes({
      requestSwap: counted(requestSwap, countSwap, acceptedOrRepeated),
      rows,
      reads: transactions.reads,
      signWaitMs: kernel.config.signWaitMs,
    }),
  ]
  return {
    ports,
    routes: (app) => {
      for (const add of routes) add(app)
    },
    // Everything else works without exchanges.
    readiness: {
      name: 'swaps',
      check: async () => undefined,
      async warning() {
        const problems = [markets.problem(), await guards.problem()].filter((problem) => problem !== null)
        return problems.length === 0 ? null : problems.join('; ')
      },
    },
  }
}

/** The chains on which a hosted source may be used. */
function hostedChains({ config, chains }: Kernel): Kernel['chains']['all'] {
  return config.swapSource === null ? [] : chains.all.filter(({ settings }) => settings.swaps?.source !== undefined)
}

function quotePorts(
  kernel: Kernel,
  { books }: ApiParts,
  { ports }: TransactionParts,
  { availableOf, heldTokens }: BalanceReads,
  { hasGuard }: Guards,
): Omit<QuotePorts, 'marketOf'> {
  const { config, pool, clock, newId, chainOf, metrics } = kernel
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
    exactTokens: createExactTokens(() => performance.now()),
    ttlMs: config.swap.quoteTtlMs,
    maxSlippageBps: config.swap.maxSlippageBps,
    requireFeeds: config.swap.requireFeeds,
    async feedsOf(chainId) {
      const { settings } = chainOf(chainId)
      return feedsOf(settings, await readAssetPrices(pool, [chainId]))
    },
    requireActive: createRequireActive(pool),
    hosted: config.swapSource && {
      source: createZeroX(config.swapSource),
      hasGuard,
      onAnswer: (outcome) => metrics.countSourceAnswer({ source: '0x', outcome }),
      tokensOf: heldTokens,
    },
    async resolveAsset(name, field, { chainId }, tenantId) {
      const found = await resolve(tenantId, chainOf(chainId).settings, name, field)
      const [priceOf] = await Promise.all([readAssetPrices(pool, [chainId]), requireReadable(chainId, found)])
      const { assetId, symbol, decimals, contract } = found
      return { assetId, symbol, decimals, contract, usd: priceOf(chainId, found)?.usd ?? null }
    },
  }
}

/** Of the configured tokens, and of the native currency, which the wrapped token is worth. */
function feedsOf(chain: ChainSettings, priceOf: PriceOf): Feeds {
  const { all, byContract } = createAssetIndex(chain, [])
  const [native] = all
  return (token) => {
    const asset = token === chain.swaps?.wrappedNative ? native : byContract(token)
    return asset === undefined ? null : feedPrice(priceOf(chain.chainId, asset)?.usd ?? null, asset.decimals)
  }
}
