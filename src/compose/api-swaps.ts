/** What the routes of swaps are made from, beside the context of the API. */
import { createAssetIndex } from '../assets/asset-index.ts'
import { type PriceOf, readAssetPrices } from '../assets/asset-prices.ts'
import { resolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { readHeldTokens } from '../balances/held-tokens.ts'
import type { ChainSettings } from '../chain/settings.ts'
import type { Owner } from '../core/tenants.ts'
import { counted } from '../http/counted.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { createExactTokens } from '../swaps/contracts/exact-tokens.ts'
import { type Feeds, feedPrice } from '../swaps/feeds.ts'
import { findGuardProblem, hasGuard } from '../swaps/guards.ts'
import { createMarkets, type Markets } from '../swaps/markets.ts'
import { createPoolBook } from '../swaps/pools.ts'
import { keepQuote } from '../swaps/quote-rows.ts'
import { type QuoteContext, quoteSwap, type SwapRequest } from '../swaps/quote-swap.ts'
import type { SwapContext } from '../swaps/request-swap.ts'
import { placeOf } from '../swaps/route.ts'
import { createZeroX } from '../swaps/zero-x.ts'
import type { ComposedApi } from './api-context.ts'

/** What swaps need, with what they remember; and what they currently cannot do. */
export function composeSwaps(ctx: ComposedApi): {
  readonly ctx: SwapContext & Pick<ComposedApi, 'metrics'>
  readonly readiness: ReadinessCheck
} {
  const { pool, metrics } = ctx
  const markets = createMarkets({ chainOf: ctx.chainOf, now: () => performance.now() })
  const hosted = hostedChains(ctx)
  const quoting = quoteContext(ctx, hosted, markets)
  const counting = counted(
    (request: SwapRequest, owner: Owner) => quoteSwap(quoting, request, owner),
    (outcome) => metrics.count('bursar_swap_quotes_total', { outcome }),
    ({ network, route }) => {
      metrics.count('bursar_swap_routes_total', { network, venue: placeOf(route) })
      return 'quoted'
    },
  )
  return {
    ctx: { ...ctx, quoteSwap: counting, keepQuote: (quote) => keepQuote(pool, quote) },
    // Everything else works without exchanges.
    readiness: {
      name: 'swaps',
      check: async () => undefined,
      async warning() {
        const problems = [markets.problem(), await findGuardProblem(hosted)].filter((problem) => problem !== null)
        return problems.length === 0 ? null : problems.join('; ')
      },
    },
  }
}

/** The chains on which a hosted source may be used. */
function hostedChains({ config, chains }: ComposedApi): ComposedApi['chains']['all'] {
  return config.swapSource === null ? [] : chains.all.filter(({ settings }) => settings.swaps?.source !== undefined)
}

function quoteContext(ctx: ComposedApi, hosted: ComposedApi['chains']['all'], { marketOf }: Markets): QuoteContext {
  const { config, pool, chainOf, metrics } = ctx
  const requireReadable = createRequireReadable(pool)
  return {
    ...ctx,
    marketOf,
    pools: createPoolBook(() => performance.now()),
    exactTokens: createExactTokens(() => performance.now()),
    async feedsOf(chainId) {
      const { settings } = chainOf(chainId)
      return feedsOf(settings, await readAssetPrices(pool, [chainId]))
    },
    hosted: config.swapSource && {
      source: createZeroX(config.swapSource),
      hasGuard: (chainId) => hasGuard(hosted, chainId),
      onAnswer: (outcome) => metrics.count('bursar_swap_source_answers_total', { source: '0x', outcome }),
      tokensOf: (walletId) => readHeldTokens(pool, walletId),
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
