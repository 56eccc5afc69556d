/** Requests that no route takes: 405 with `Allow` where the path exists, 204 for OPTIONS there, 404 elsewhere. */
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { NotFound } from '../core/errors.ts'
import { MethodNotAllowed } from './http-errors.ts'

export type PathBook = {
  /** An `onRoute` hook. */
  readonly note: (route: RouteOptions) => void
  /** The handler of everything unmatched. */
  readonly reply: (request: FastifyRequest, reply: FastifyReply) => void
}

export function createPathBook(): PathBook {
  const methodsByUrl = new Map<string, Set<string>>()
  let patterns: readonly { readonly pattern: RegExp; readonly methods: ReadonlySet<string> }[] | null = null

  function methodsOf(path: string): readonly string[] {
    patterns ??= [...methodsByUrl].map(([url, methods]) => ({ pattern: patternOf(url), methods }))
    const found = patterns.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => [...methods])
    return [...new Set([...found, ...(found.length > 0 ? ['OPTIONS'] : [])])].sort()
  }

  return {
    note(route) {
      const methods = methodsByUrl.get(route.url) ?? new Set()
      for (const method of [route.method].flat()) methods.add(method)
      methodsByUrl.set(route.url, methods)
      patterns = null
    },
    reply(request, reply) {
      const allowed = methodsOf(request.url.split('?')[0] ?? '')
      if (allowed.length === 0)
        throw new NotFound('route', 'route_not_found', 'This path does not exist: /docs lists all paths.')
      reply.header('allow', allowed.join(', '))
      if (request.method !== 'OPTIONS') throw new MethodNotAllowed(request.method, allowed)
      reply.code(204).send()
    },
  }
}

/** `/v1/wallets/:wallet_id` as a pattern in which a parameter is anything but a slash. */
function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}
