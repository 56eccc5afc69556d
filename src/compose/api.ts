/** The API process: every route and its dependencies. It appends and reads; it holds no key and uses no queue. */
import type { ApiContext } from '../api-context.ts'
import { assetRoutes } from '../assets/routes.ts'
import { balanceRoutes } from '../balances/routes.ts'
import type { Capability } from '../capability.ts'
import { contractCallRoutes } from '../contract-calls/routes.ts'
import { buildApp } from '../http/app.ts'
import { createReadiness } from '../http/health.ts'
import type { App, Routes } from '../http/request.ts'
import { collectionRoutes } from '../nft/collections/routes.ts'
import { metadataRoutes } from '../nft/metadata/routes.ts'
import type { NftContext } from '../nft/nft-context.ts'
import { walletTokenRoutes } from '../nft/ownership/routes.ts'
import { mintRoutes } from '../nft/tokens/mint-routes.ts'
import { tokenRoutes } from '../nft/tokens/update-routes.ts'
import { voucherRoutes } from '../nft/tokens/voucher-routes.ts'
import { nftTransferRoutes } from '../nft/transfers/routes.ts'
import { pastRoutes } from '../policies/past-routes.ts'
import { policyRoutes } from '../policies/routes.ts'
import { swapRoutes } from '../swaps/routes.ts'
import { requestSwapRoutes } from '../swaps/swap-routes.ts'
import { transactionRoutes } from '../transactions/transaction-routes.ts'
import { transferRoutes } from '../transactions/transfer-routes.ts'
import { openingRoutes } from '../wallets/opening-routes.ts'
import { walletRoutes } from '../wallets/routes.ts'
import { deliveryRoutes } from '../webhooks/delivery-routes.ts'
import { deliveredTypes } from '../webhooks/require-terms.ts'
import { webhookRoutes } from '../webhooks/routes.ts'
import { requireSealing } from '../webhooks/secrets.ts'
import { type ComposedApi, createApiContext } from './api-context.ts'
import { composeFeed } from './api-feed.ts'
import { composeApiKeys } from './api-keys.ts'
import { composeSwaps } from './api-swaps.ts'
import { addGauges, addKernelGauges, CAPABILITIES_BY_NAME, type CapabilityName } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { simulatedRequests } from './policy-simulation.ts'
import { composeQuotas } from './quotas.ts'
import { readinessChecks } from './readiness.ts'

/** Additions of an installation to the API. */
export type ApiAdditions = { readonly routes: readonly Routes[]; readonly fundIssuer: NftContext['fundIssuer'] }
export type AddToApi = (ctx: ApiContext) => ApiAdditions

const addNothing: AddToApi = () => ({ routes: [], fundIssuer: null })

/** What routes of capabilities are made from: the context, and the additions that they use. */
export type RouteContext = ComposedApi & Pick<NftContext, 'fundIssuer'>

/** Routes that the capability does not declare itself. */
const ROUTES: Readonly<Partial<Record<CapabilityName, (ctx: RouteContext) => readonly Routes[]>>> = {
  wallets: (ctx) => [openingRoutes(ctx), walletRoutes(ctx)],
  balances: (ctx) => [balanceRoutes(ctx)],
  transactions: (ctx) => [transferRoutes(ctx), transactionRoutes(ctx)],
  contractCalls: (ctx) => [contractCallRoutes(ctx)],
  assets: (ctx) => [assetRoutes(ctx)],
  nft: (ctx) => [
    metadataRoutes(ctx),
    collectionRoutes(ctx),
    mintRoutes(ctx),
    voucherRoutes(ctx),
    tokenRoutes(ctx),
    nftTransferRoutes(ctx),
    walletTokenRoutes(ctx),
  ],
}
const NAMES = Object.keys(CAPABILITIES_BY_NAME) as readonly CapabilityName[]
const DECLARED_ITSELF = NAMES.filter((name) => !Object.hasOwn(ROUTES, name))

/** The routes of these capabilities that need the context alone: all but those of swaps, webhooks, API keys and policies. */
export async function routesOf(ctx: RouteContext, names: readonly CapabilityName[]): Promise<readonly Routes[]> {
  const added = names.map(async (name) => {
    const { routes }: Capability = CAPABILITIES_BY_NAME[name]
    const build = await routes?.()
    return [...(ROUTES[name]?.(ctx) ?? []), ...(build === undefined ? [] : [build(ctx)])]
  })
  return (await Promise.all(added)).flat()
}

/** The application, ready to listen, and what it currently cannot do. */
export type Api = { readonly app: App; readonly problem: () => string | null }

/**
 * @param version as package.json has it
 * @param add what the sandbox adds; production adds nothing
 */
export async function composeApi(kernel: Kernel, version: string, add: AddToApi = addNothing): Promise<Api> {
  const { config, catalogue, logger, metrics, clock, newId } = kernel
  const composed = createApiContext(kernel)
  const additions = add(composed)
  const ctx = { ...composed, fundIssuer: additions.fundIssuer }
  const apiKeys = composeApiKeys(ctx)
  const { quotas, routes: quotaRoutes } = composeQuotas(ctx)
  const swaps = composeSwaps(ctx)
  const feed = await composeFeed(kernel, apiKeys.authenticator, { streams: config.eventStreams })
  await requireSealing(kernel)
  const hooks = { ...ctx, delivered: deliveredTypes(feed.catalogue.types) }
  void warnOfMulticalls(kernel)
  addKernelGauges(kernel)
  addGauges(kernel, 'api')
  const routes: Routes[] = [
    ...(await routesOf(ctx, ['wallets', 'balances', 'transactions'])),
    swapRoutes(swaps.ctx),
    requestSwapRoutes(swaps.ctx),
    ...(await routesOf(ctx, ['contractCalls', ...DECLARED_ITSELF, 'assets'])),
    feed.routes,
    webhookRoutes(hooks),
    deliveryRoutes(hooks),
    apiKeys.routes,
    policyRoutes(ctx),
    pastRoutes(ctx, simulatedRequests(ctx, swaps.ctx)),
    quotaRoutes,
    ...(await routesOf(ctx, ['nft'])),
    ...additions.routes,
  ]
  const app = await buildApp({
    settings: config.http,
    version,
    logger,
    metrics,
    routes,
    catalogue,
    clock,
    newId,
    quotas,
    events: feed.events,
    asOfEvent: feed.asOfEvent,
    authenticator: apiKeys.authenticator,
    countRequest: apiKeys.countRequest,
    timer: () => performance.now(),
    readiness: createReadiness([...readinessChecks(kernel), swaps.readiness], clock),
  })
  return { app, problem: feed.problem }
}

/** At the start; afterwards `/readyz` says it. */
async function warnOfMulticalls({ chains, logger }: Kernel): Promise<void> {
  for (const { settings, multicall } of chains.all) {
    const problem = await multicall.problem().catch(() => null)
    if (problem !== null) logger.error({ network: settings.network, problem }, 'the address of Multicall3 is wrong')
  }
}
