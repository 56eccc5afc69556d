/** The API process: every route and its dependencies. It appends and reads; it holds no key and uses no queue. */
import type { ApiContext, ApiPart, RouteContext } from '../api-context.ts'
import type { Capability } from '../capability.ts'
import { buildApp } from '../http/app.ts'
import { createReadiness } from '../http/health.ts'
import type { App, Routes } from '../http/request.ts'
import { createApiContext } from './api-context.ts'
import { composeFeed } from './api-feed.ts'
import { addGauges, addKernelGauges, CAPABILITIES_BY_NAME, type CapabilityName } from './capabilities.ts'
import type { Kernel } from './kernel.ts'
import { composeQuotas } from './quotas.ts'
import { readinessChecks } from './readiness.ts'

/** Additions of an installation to the API. */
export type ApiAdditions = { readonly routes: readonly Routes[] } & Pick<RouteContext, 'fundWallet'>
export type AddToApi = (ctx: ApiContext) => ApiAdditions

const addNothing: AddToApi = () => ({ routes: [], fundWallet: null })

/** Where a capability that names no place stands, and what no capability owns: see `place` in capability.ts. */
const PLACES = { default: 60, feed: 75, quotas: 95 } as const

type PlacedPart = ApiPart & { readonly place: number }

const NAMES = Object.keys(CAPABILITIES_BY_NAME) as readonly CapabilityName[]

/** What these capabilities add to the API, in the order of the API document. */
async function partsOf(ctx: RouteContext, names: readonly CapabilityName[]): Promise<readonly PlacedPart[]> {
  const made = names.map(async (name) => {
    const { routes, place = PLACES.default }: Capability = CAPABILITIES_BY_NAME[name]
    if (routes === undefined) return []
    const part = await (await routes())(ctx)
    return [{ place, ...(typeof part === 'function' ? { routes: [part] } : part) }]
  })
  return inPlace((await Promise.all(made)).flat())
}

/** The routes of these capabilities, in the order of the API document. */
export async function routesOf(ctx: RouteContext, names: readonly CapabilityName[]): Promise<readonly Routes[]> {
  return (await partsOf(ctx, names)).flatMap(({ routes }) => routes)
}

function inPlace<Placed extends { readonly place: number }>(all: readonly Placed[]): readonly Placed[] {
  return all.toSorted((a, b) => a.place - b.place)
}

function simulatedBy(parts: readonly ApiPart[]): ReturnType<RouteContext['simulated']> {
  const all = parts.flatMap(({ simulates = {} }) => Object.entries(simulates))
  return Object.fromEntries(all.toSorted(([, a], [, b]) => a.place - b.place))
}

/** The application, ready to listen, and what it currently cannot do. */
export type Api = { readonly app: App; readonly problem: () => string | null }

/**
 * @param version as package.json has it
 * @param add what the sandbox adds; production adds nothing
 */
export async function composeApi(kernel: Kernel, version: string, add: AddToApi = addNothing): Promise<Api> {
  const { config, catalogue, logger, metrics, clock, newId } = kernel
  const ctx = createApiContext(kernel)
  const { authenticator, countRequest } = ctx.keyGate
  const additions = add(ctx)
  const { quotas, routes: quotaRoutes } = composeQuotas(ctx)
  const feed = await composeFeed(kernel, authenticator, { streams: config.eventStreams })
  const parts: readonly PlacedPart[] = await partsOf(
    {
      ...ctx,
      fundWallet: additions.fundWallet,
      publicTypes: feed.catalogue.types,
      simulated: () => simulatedBy(parts),
    },
    NAMES,
  )
  void warnOfMulticalls(kernel)
  addKernelGauges(kernel)
  addGauges(kernel, 'api')
  const placed = inPlace([
    ...parts,
    { place: PLACES.feed, routes: [feed.routes] },
    { place: PLACES.quotas, routes: [quotaRoutes] },
  ])
  const app = await buildApp({
    settings: config.http,
    version,
    logger,
    metrics,
    routes: [
      ...placed.flatMap(({ routes }) => routes),
      ...additions.routes,
      (app) => app.addHook('onClose', ctx.flush),
    ],
    catalogue,
    clock,
    newId,
    quotas,
    events: feed.events,
    asOfEvent: feed.asOfEvent,
    authenticator,
    countRequest,
    timer: () => performance.now(),
    readiness: createReadiness(
      [...readinessChecks(kernel), ...parts.flatMap(({ readiness = [] }) => readiness)],
      clock,
    ),
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
