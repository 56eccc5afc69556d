/**
 * Quotes a swap: the best route of every configured exchange at one block, checked by executing it in a simulation.
 * Nothing is sent, and no event is recorded.
 */

import type { ChainClient } from '../chain/client-set.ts'
import type { Context } from '../context.ts'
import { type Asset, nativeAsset } from '../core/assets.ts'
import { toInstant } from '../core/ids.ts'
import type { Owner } from '../core/tenants.ts'
import { findPayer } from '../transactions/prepare-transaction.ts'
import type { PrepareContext, Sender } from '../transactions/send-context.ts'
import { requireActive } from '../wallets/require-active.ts'
import { askSource, type HostedSource, type HostedSwap, takeOffer } from './ask-source.ts'
import type { ExactTokens } from './contracts/exact-tokens.ts'
import type { SwapTerms } from './events.ts'
import type { Feeds } from './feeds.ts'
import { type FoundRoutes, findRoutes } from './find-route.ts'
import { keepingMarket, tokenToCheck, withoutOthers } from './keeping-venues.ts'
import type { Market } from './market.ts'
import type { PoolBook } from './pools.ts'
import { priceIssueOf } from './price-issue.ts'
import { quoteIdOf, type SwapQuote } from './quote.ts'
import { approvalOf, gasOf, issuesOf } from './quote-issues.ts'
import { readAmount, requireFeeds, requireSlippage, requireTwoAssets } from './refusals.ts'
import { amountsOf, mostIn } from './route.ts'
import { type TriedRoute, tryRoutes } from './try-routes.ts'
import { valueDifferenceBps } from './value-difference.ts'

/** A request as the API reads it. */
export type SwapRequest = {
  readonly walletId: string
  readonly fromAsset: string
  readonly toAsset: string
  /** A decimal string of the asset whose amount is fixed. */
  readonly amount: string
  readonly terms: SwapTerms
}

/** US dollars for a whole unit; `null` when unknown. */
type PricedAsset = Asset & { readonly usd: string | null }

/** What quotes need. `swaps/create-quoting.ts` makes it once: it remembers exchanges, pools and tokens. */
export type QuoteContext = Pick<PrepareContext, 'findSender' | 'newId' | 'quoteOf'> &
  Pick<Context, 'clock' | 'pool'> & {
    /** @throws ValidationFailed `swap_not_configured`, Unavailable when no exchange can be used */
    readonly marketOf: (sender: Sender) => Promise<Market>
    /** @param field the request field that an error names */
    readonly resolveAsset: (name: string, field: string, sender: Sender, tenantId: string) => Promise<PricedAsset>
    readonly chainOf: (chainId: number) => Pick<ChainClient, 'foreign' | 'multicall' | 'settings'>
    readonly feedsOf: (chainId: number) => Promise<Feeds>
    /** Base units that the wallet may spend. */
    readonly availableOf: (walletId: string, assetId: string) => Promise<bigint>
    readonly pools: PoolBook
    readonly exactTokens: ExactTokens
    /** A hosted source whose offers compete with the exchanges; `null` for none. */
    readonly hosted: HostedSource | null
    /** `requireFeeds`: whether a swap of an asset without a price feed is refused. */
    readonly config: {
      readonly swap: Pick<Context['config']['swap'], 'quoteTtlMs' | 'maxSlippageBps' | 'requireFeeds'>
    }
  }

/** `quoteSwap` with its context. */
export type QuoteSwap = (request: SwapRequest, owner: Owner) => Promise<SwapQuote>

/** A request whose names are resolved. */
type Swap = {
  readonly tenantId: string
  readonly sender: Sender
  readonly market: Market
  readonly from: Asset
  readonly to: Asset
  readonly amount: bigint
  readonly terms: SwapTerms
  readonly gasPrice: SwapQuote['gasPrice']
  readonly prices: readonly (string | null)[]
  readonly feeds: Feeds
}

/**
 * @throws NotFound, PermissionDenied, Conflict (`wallet_archived`, `wallet_not_ready`, `ambiguous_asset`,
 *   `token_unreadable`), ValidationFailed that names the field, Unavailable
 */
export async function quoteSwap(ctx: QuoteContext, request: SwapRequest, owner: Owner): Promise<SwapQuote> {
  const { hosted } = ctx
  const swap = await readSwap(ctx, request, owner)
  const affordable = availableTo(ctx, swap)
  const [found, available, asked] = await Promise.all([
    route(ctx, swap),
    affordable,
    affordable.then(({ asset }) => hosted && askSource(hosted, toHosted(ctx, swap, asset))),
  ])
  const tried = await tryAffordable(ctx, swap, found, available.asset)
  const own = { found, tried, otherTokens: null, available }
  if (hosted === null || tried === null || asked === null) return quoteOf(ctx, swap, own)
  const rivals = { ...asked, found, tried, gasPrice: BigInt(swap.gasPrice.expected) }
  const client = ctx.chainOf(swap.sender.chainId).foreign
  const taken = await takeOffer(hosted, client, toHosted(ctx, swap, available.asset), rivals)
  return quoteOf(ctx, swap, { ...own, ...taken })
}

async function readSwap(ctx: QuoteContext, request: SwapRequest, owner: Owner): Promise<Swap> {
  const { terms } = request
  const { tenantId } = owner
  requireSlippage(terms.slippageBps, ctx.config.swap.maxSlippageBps)
  const sender = await findPayer(ctx, owner, request.walletId)
  await requireActive(ctx.pool, sender.walletId)
  const market = await ctx.marketOf(sender)
  const [{ usd: price, ...from }, { usd: otherPrice, ...to }] = await Promise.all([
    ctx.resolveAsset(request.fromAsset, 'from_asset', sender, tenantId),
    ctx.resolveAsset(request.toAsset, 'to_asset', sender, tenantId),
  ])
  requireTwoAssets({ from, to })
  const amount = readAmount(request.amount, terms.amountType, { from, to })
  const [{ baseFeePerGas, medium }, feeds] = await Promise.all([
    ctx.quoteOf(sender.chainId),
    ctx.feedsOf(sender.chainId),
  ])
  if (ctx.config.swap.requireFeeds) requireFeeds({ from, to }, market.wrapped, [price, otherPrice])
  const expected = (baseFeePerGas + medium.maxPriorityFeePerGas).toString()
  return {
    tenantId,
    sender,
    market,
    from,
    to,
    amount,
    terms,
    gasPrice: { expected, max: medium.maxFeePerGas.toString() },
    prices: [price, otherPrice],
    feeds,
  }
}

/** Only over exchanges that keep the minimum. */
async function route({ chainOf, pools, exactTokens }: QuoteContext, swap: Swap): Promise<FoundRoutes> {
  const { sender, from, to, terms, gasPrice } = swap
  const { chainId } = sender
  const { foreign: client, multicall } = chainOf(chainId)
  const contract = tokenToCheck(swap.market, to)
  const [multicall3, isExact] = await Promise.all([
    multicall.usable(),
    contract === null || exactTokens.isExact(client, { chainId, contract }),
  ])
  const bought = { from, to, amountType: terms.amountType, isExact }
  const asking = { client, multicall3, market: keepingMarket(swap.market, bought), pools }
  const wanted = { ...swap, wallet: sender.address, gasPrice: BigInt(gasPrice.expected) }
  return findRoutes(asking, wanted).catch((error: unknown) => {
    throw withoutOthers(error, bought)
  })
}

function toHosted({ chainOf }: QuoteContext, swap: Swap, available: bigint): HostedSwap {
  const { sender, market, from, to, amount, terms } = swap
  const { walletId: id, address, chainId } = sender
  const pins = chainOf(chainId).settings.swaps?.source
  return { wallet: { id, address, chainId }, from, to, amount, terms, available, wrapped: market.wrapped, pins }
}

export type Available = { readonly asset: bigint; readonly native: bigint }

async function availableTo({ availableOf }: QuoteContext, { sender, from }: Swap): Promise<Available> {
  const { walletId, network, chainId } = sender
  const [asset, native] = await Promise.all([
    availableOf(walletId, from.assetId),
    availableOf(walletId, nativeAsset(network, chainId).assetId),
  ])
  return { asset, native }
}

/** The route that works. A swap that the wallet cannot pay is not simulated: it would only show that. */
async function tryAffordable(
  { chainOf }: QuoteContext,
  { sender, from, to, terms }: Swap,
  found: FoundRoutes,
  available: bigint,
): Promise<TriedRoute | null> {
  const [best] = found.routes
  if (available < mostIn(best.route)) return null
  return tryRoutes(chainOf(sender.chainId).foreign, { wallet: sender.address, from, to, terms }, found)
}

function quoteOf(
  ctx: QuoteContext,
  swap: Swap,
  {
    found,
    tried,
    available,
    otherTokens,
  }: {
    readonly found: FoundRoutes
    readonly tried: TriedRoute | null
    readonly available: Available
    readonly otherTokens: readonly string[] | null
  },
): SwapQuote {
  const { sender, from, to, tenantId, terms, gasPrice, prices, feeds } = swap
  const chosen = tried?.found ?? found.routes[0]
  const outcome = tried?.outcome ?? null
  const approval = approvalOf(chosen.route, found.allowances, outcome)
  const gas = gasOf(chosen, approval, outcome, swap.market.rules)
  const valueDifference = valueDifferenceBps({ ...amountsOf(chosen.route), from, to, prices })
  const priceIssue = priceIssueOf({ chosen, found, feeds, valueDifferenceBps: valueDifference })
  const now = ctx.clock()
  const content = {
    tenantId,
    walletId: sender.walletId,
    network: sender.network,
    chainId: sender.chainId,
    fromAsset: from,
    toAsset: to,
    terms,
    route: chosen.route,
    priceImpactBps: chosen.priceImpactBps,
    lpFeeBps: chosen.lpFeeBps,
    valueDifferenceBps: valueDifference,
    approval,
    gas,
    gasPrice,
    issues: { ...issuesOf({ chosen, found, outcome, from, gas, gasPrice, available, sender }), price: priceIssue },
    ...(otherTokens === null ? {} : { otherTokens }),
    block: found.block,
    quotedAt: toInstant(now),
    expiresAt: toInstant(now + ctx.config.swap.quoteTtlMs),
    salt: ctx.newId('quote'),
  }
  return { ...content, quoteId: quoteIdOf(content) }
}
