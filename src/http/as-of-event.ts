/**
 * Adds to each list where to follow it in the event feed. Invariant: the position is read before the rows, so every
 * change that the rows do not show comes after it.
 */
import type { RouteHandlerMethod, RouteOptions } from 'fastify'
import type { Caller } from './caller.ts'
import type { Success } from './envelope.ts'
import type { App } from './request.ts'

/** The id of the newest event that readers of the feed can have; null if there is none. */
export type AsOfEvent = (owner: Pick<Caller, 'tenantId' | 'environment'>) => Promise<string | null>

/** An `onRoute` hook for the routes whose response has `as_of_event`: see `pageSchema`. */
export function addAsOfEvent(asOfEvent: AsOfEvent): (route: RouteOptions) => void {
  return (route) => {
    if (!hasAsOfEvent(route)) return
    const { handler } = route
    route.handler = async function run(this: App, request, reply) {
      const as_of_event = showsThePast(request.query) ? null : await asOfEvent(request.caller)
      const { data, ...rest } = (await handler.call(this, request, reply)) as Success<object>
      return { ...rest, data: { ...data, as_of_event } }
    } as RouteHandlerMethod
  }
}

function hasAsOfEvent({ schema }: RouteOptions): boolean {
  type Shape = { readonly properties?: Readonly<Record<string, Shape>> }
  const responses = schema?.response as { readonly 200?: Shape } | undefined
  return responses?.[200]?.properties?.data?.properties?.as_of_event !== undefined
}

function showsThePast(query: unknown): boolean {
  return (query as { readonly at?: unknown }).at !== undefined
}
