/** The routes of swaps and their dependencies. */
import { createAssetIndex } from '../assets/asset-index.ts'
import { type PriceOf, readAssetPrices } from '../assets/asset-prices.ts'
import { resolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { heldTokens } from '../balances/held-tokens.ts'
import { createExactTokens } from '../chain/exact-tokens.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { acceptedOrRepeated, counted } from '../http/counted.ts'
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
import type { SendContext } from '../transactions/send-context.ts'
import { createRequireActive } from '../wallets/require-active.ts'
import type { ComposedApi } from './api-context.ts'

/** What a swap needs beside the parts of every transaction. */
export type OwnSwapPorts = Omit<SwapPorts, keyof SendContext>

export function composeSwapRoutes(ctx: ComposedApi): {
  readonly routes: Routes
  readonly readiness: ReadinessCheck
  readonly ports: OwnSwapPorts
} {
  const { pool, metrics, chainOf } = ctx
  const markets = createMarkets({ chainOf, now: () => performance.now() })
  const guards = createGuards(hostedChains(ctx))
  const quoteSwap = createQuoteSwap({
    ...quotePorts(ctx, guards),
    marketOf: markets.marketOf,
  })
  const counting = counted(quoteSwap, metrics.countSwapQuote, ({ network, route }) => {
    metrics.countSwapRoute({ network, venue: placeOf(route) })
    return 'quoted'
  })
  const quoting = { quoteSwap: counting, keepQuote: createKeepQuote(pool) }
  const rows = createSwapRows(pool)
  const ports = { ...quoting, clock: ctx.clock, nodeOf: chainOf, readQuote: createReadQuote(pool), rows }
  const requestSwap = createRequestSwap({ ...ctx, ...ports })
  const countSwap = (outcome: string) => metrics.countRequested({ kind: 'swap', outcome })
  const routes = [
    swapRoutes({ ...quoting, requireRoom: createRequireQuoteRoom(ctx) }),
    requestSwapRoutes({
      requestSwap: counted(requestSwap, countSwap, acceptedOrRepeated),
      rows,
      transactions: ctx.transactions,
      config: ctx.config,
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
function hostedChains({ config, chains }: ComposedApi): ComposedApi['chains']['all'] {
  return config.swapSource === null ? [] : chains.all.filter(({ settings }) => settings.swaps?.source !== undefined)
}

function quotePorts(ctx: ComposedApi, { hasGuard }: Guards): Omit<QuotePorts, 'marketOf'> {
  const { config, pool, clock, newId, chainOf, metrics, availableOf, findSender, quoteOf } = ctx
  const requireReadable = createRequireReadable(pool)
  return {
    findSender,
    quoteOf,
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
      tokensOf: (walletId) => heldTokens({ pool }, walletId),
    },
    async resolveAsset(name, field, { chainId }, tenantId) {
      const found = await resolveAsset(ctx, tenantId, chainOf(chainId).settings, name, field)
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
