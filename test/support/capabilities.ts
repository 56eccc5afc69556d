/**
 * Capabilities on a fresh database, composed as the API process composes them: its kernel, its context, its routes. Only
 * the keys of callers are those of `http.ts`. A test composes none of it again; what it fakes, it gives here.
 */
import type { Test } from 'tap'
import type { RouteContext } from '../../src/api-context.ts'
import { createApiContext } from '../../src/compose/api-context.ts'
import type { CapabilityName } from '../../src/compose/capabilities.ts'
import { composeKernel, type Kernel } from '../../src/compose/kernel.ts'
import type { Environ } from '../../src/config.ts'
import { apiConfig } from './config.ts'
import type { Answer, TestApp, TestAppOptions } from './http.ts'
import { withDatabase } from './postgres.ts'

/** Members of the context that are not the real ones; those of the kernel are replaced for the whole context. */
export type Fakes = Partial<RouteContext> | ((kernel: Kernel) => Partial<RouteContext>)

/** The context of an API process, and the URL of its database. */
export type ApiProcess = RouteContext & { readonly url: string }

export type Call = (url: string, body?: object, headers?: Readonly<Record<string, string>>) => Promise<Answer>

/** Routes over HTTP, with the full key unless the headers have another one. */
export type Served = TestApp & { readonly post: Call; readonly patch: Call; readonly get: Call; readonly remove: Call }

/**
 * @param names of the capabilities whose routes are served
 * @param env settings, in place of those of `apiConfig`
 */
export async function withCapabilities(
  t: Test,
  names: readonly CapabilityName[],
  fakes: Fakes = {},
  env: Environ = {},
): Promise<ApiProcess & Served> {
  const ctx = await withContext(t, fakes, env)
  return { ...ctx, ...(await serve(ctx, names)) }
}

/** The context alone, for tests without HTTP. */
export async function withContext(t: Test, fakes: Fakes = {}, env: Environ = {}): Promise<ApiProcess> {
  const { url } = await withDatabase(t)
  return startApiProcess(t, url, fakes, env)
}

/** An API process; others on the same database share nothing else with it. It ends with the test. */
export function startApiProcess(t: Test, url: string, fakes: Fakes = {}, env: Environ = {}): ApiProcess {
  const kernel = composeKernel(apiConfig(url, env), 'api')
  t.after(() => kernel.close())
  const faked = typeof fakes === 'function' ? fakes(kernel) : fakes
  const ctx = createApiContext({ ...kernel, ...faked })
  t.after(async () => {
    await ctx.prisma.$disconnect()
    await ctx.flush()
  })
  return { ...ctx, fundWallet: null, publicTypes: [], simulated: () => ({}), ...faked, url }
}

/** @param options of the application, in place of those of a test */
export async function serve(
  ctx: ApiProcess,
  names: readonly CapabilityName[],
  options: Partial<TestAppOptions> = {},
): Promise<Served> {
  // Only here: to load all routes takes a third of a second.
  const [{ routesOf }, { startTestApp }] = await Promise.all([import('../../src/compose/api.ts'), import('./http.ts')])
  const routes = await routesOf(ctx, names)
  const served = await startTestApp({
    metrics: ctx.metrics,
    ...options,
    routes(app) {
      for (const add of routes) add(app)
      options.routes?.(app)
    },
  })
  const call =
    (method: 'POST' | 'PATCH' | 'GET' | 'DELETE'): Call =>
    (url, payload, headers = {}) =>
      served.send({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  return { ...served, post: call('POST'), patch: call('PATCH'), get: call('GET'), remove: call('DELETE') }
}
