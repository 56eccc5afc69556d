/** The API process: every route and its dependencies. It appends and reads; it holds no key and uses no queue. */
import type { ApiContext } from '../api-context.ts'
import { assetRoutes } from '../assets/routes.ts'
import { balanceRoutes } from '../balances/routes.ts'
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
import { createApiContext } from './api-context.ts'
import { composeFeed } from './api-feed.ts'
import { composeApiKeys } from './api-keys.ts'
import { composeSwaps } from './api-swaps.ts'
import { addGauges, addKernelGauges, CAPABILITIES } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { simulatedRequests } from './policy-simulation.ts'
import { composeQuotas } from './quotas.ts'
import { readinessChecks } from './readiness.ts'

/** Additions of an installation to the API. */
export type ApiAdditions = { readonly routes: readonly Routes[]; readonly fundIssuer: NftContext['fundIssuer'] }
export type AddToApi = (ctx: ApiContext) => ApiAdditions

const addNothing: AddToApi = () => ({ routes: [], fundIssuer: null })

/** The application, ready to listen, and what it currently cannot do. */
export type Api = { readonly app: App; readonly problem: () => string | null }

/**
 * @param version as package.json has it
 * @param add what the sandbox adds; production adds nothing
 */
export async function composeApi(kernel: Kernel, version: string, add: AddToApi = addNothing): Promise<Api> {
  const { config, logger, metrics, clock, newId } = kernel
  const ctx = createApiContext(kernel)
  const additions = add(ctx)
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
    openingRoutes(ctx),
    walletRoutes(ctx),
    balanceRoutes(ctx),
    transferRoutes(ctx),
    transactionRoutes(ctx),
    swapRoutes(swaps.ctx),
    requestSwapRoutes(swaps.ctx),
    contractCallRoutes(ctx),
    ...(await capabilityRoutes(ctx)),
    assetRoutes(ctx),
    feed.routes,
    webhookRoutes(hooks),
    deliveryRoutes(hooks),
    apiKeys.routes,
    policyRoutes(ctx),
    pastRoutes(ctx, simulatedRequests(ctx, swaps.ctx)),
    quotaRoutes,
    metadataRoutes(ctx),
    ...nftRoutes({ ...ctx, fundIssuer: additions.fundIssuer }),
    ...additions.routes,
  ]
  const app = await buildApp({
    settings: config.http,
    version,
    logger,
    metrics,
    routes,
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

/** Those of collections, mints, vouchers, tokens and their transfers. */
function nftRoutes(ctx: NftContext): Routes[] {
  return [
    collectionRoutes(ctx),
    mintRoutes(ctx),
    voucherRoutes(ctx),
    tokenRoutes(ctx),
    nftTransferRoutes(ctx),
    walletTokenRoutes(ctx),
  ]
}

/** At the start; afterwards `/readyz` says it. */
async function warnOfMulticalls({ chains, logger }: Kernel): Promise<void> {
  for (const { settings, multicall } of chains.all) {
    const problem = await multicall.problem().catch(() => null)
    if (problem !== null) logger.error({ network: settings.network, problem }, 'the address of Multicall3 is wrong')
  }
}

/** Routes of capabilities that need no other one. */
async function capabilityRoutes(ctx: ApiContext): Promise<Routes[]> {
  const builds = await Promise.all(CAPABILITIES.flatMap(({ routes }) => routes?.() ?? []))
  return builds.map((build) => build(ctx))
}
