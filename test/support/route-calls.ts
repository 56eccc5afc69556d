/** The calls with which a route that takes an `Idempotency-Key` is tried. */
import type { Test } from 'tap'

export type Call = { readonly path: string; readonly body?: object }

/** Calls of one route: an accepted one, a refused one, and one that differs from the accepted one. */
export type RouteCalls = {
  readonly good: Call
  readonly bad: Call
  readonly other: Call
  /** The response field with the resource's id. */
  readonly id: string
}

/** Creates the calls when they run: the resources they need exist then. */
export type RouteCase = (t: Test) => Promise<RouteCalls>

/** Three bodies for one path. */
export function calls(id: string, path: string, bodies: { good: object; bad: object; other: object }): RouteCalls {
  const { good, bad, other } = bodies
  return { id, good: { path, body: good }, bad: { path, body: bad }, other: { path, body: other } }
}
