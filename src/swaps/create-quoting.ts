/** How the API process quotes swaps: with its assets, their prices, and a hosted source if the settings name one. */
import type { ApiContext } from '../api-context.ts'
import { createAssetIndex } from '../assets/asset-index.ts'
import { type PriceOf, readAssetPrices } from '../assets/asset-prices.ts'
import { resolveAsset } from '../assets/resolve-asset.ts'
import { createRequireReadable } from '../assets/unreadable.ts'
import { readHeldTokens } from '../balances/held-tokens.ts'
import type { ChainSettings } from '../chain/settings.ts'
import { createExactTokens } from './contracts/exact-tokens.ts'
import { type Feeds, feedPrice } from './feeds.ts'
import { findGuardProblem, hasGuard } from './guards.ts'
import { createMarkets, type Markets } from './markets.ts'
import { createPoolBook } from './pools.ts'
import { type QuoteContext, type QuoteSwap, quoteSwap } from './quote-swap.ts'
import { createZeroX } from './zero-x.ts'

/** Quotes of swaps, with what they remember. */
export function createQuoting(ctx: ApiContext): {
  /** `quoteSwap` with its context. */
  readonly quote: QuoteSwap
  /** What swaps currently cannot do; `null` if nothing. */
  readonly problem: () => Promise<string | null>
} {
  const markets = createMarkets({ chainOf: ctx.chainOf, now: () => performance.now() })
  const hosted = hostedChains(ctx)
  const quoting = quoteContext(ctx, hosted, markets)
  return {
    quote: (request, owner) => quoteSwap(quoting, request, owner),
    async problem() {
      const problems = [markets.problem(), await findGuardProblem(hosted)].filter((problem) => problem !== null)
      return problems.length === 0 ? null : problems.join('; ')
    },
  }
}

/** The chains on which a hosted source may be used. */
function hostedChains({ config, chains }: ApiContext): ApiContext['chains']['all'] {
  return config.swapSource === null ? [] : chains.all.filter(({ settings }) => settings.swaps?.source !== undefined)
}

function quoteContext(ctx: ApiContext, hosted: ApiContext['chains']['all'], { marketOf }: Markets): QuoteContext {
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
