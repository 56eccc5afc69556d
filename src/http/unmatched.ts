/**
 * Responses for requests without a route: 405 with `Allow` if the path exists, 204 for OPTIONS there, 404 elsewhere.
 *
 * A static path takes precedence over a path with a parameter: `/v1/wallets/create` allows the methods declared for it,
 * not those of `/v1/wallets/:wallet_id`, as no id is `create`.
 */
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from 'fastify'
import { NotFound } from '../core/errors.ts'
import { MethodNotAllowed } from './http-errors.ts'

export type PathBook = {
  /** An `onRoute` hook. */
  readonly note: (route: RouteOptions) => void
  /** The handler of every unmatched request. */
  readonly reply: (request: FastifyRequest, reply: FastifyReply) => void
  /** An `onRequest` hook: it responds before authentication and before the body is read. */
  readonly refuseUndeclared: onRequestHookHandler
}

type Methods = ReadonlySet<string>

export function createPathBook(): PathBook {
  const methodsByUrl = new Map<string, Set<string>>()
  let index: ReturnType<typeof indexOf> | null = null

  function pathsOf(): ReturnType<typeof indexOf> {
    index ??= indexOf(methodsByUrl)
    return index
  }

  function allowedOn(path: string): readonly string[] {
    const own = methodsByUrl.get(path)
    const found = own === undefined ? pathsOf().templates.find(({ pattern }) => pattern.test(path))?.methods : own
    return found === undefined ? [] : [...found, 'OPTIONS'].sort()
  }

  function reply(request: FastifyRequest, reply: FastifyReply): void {
    const allowed = allowedOn(pathOf(request))
    if (allowed.length === 0) {
      throw new NotFound('route', 'route_not_found', 'This path does not exist: /docs lists all paths.')
    }
    reply.header('allow', allowed.join(', '))
    if (request.method !== 'OPTIONS') throw new MethodNotAllowed(request.method, allowed)
    reply.code(204).send()
  }

  return {
    note(route) {
      const methods = methodsByUrl.get(route.url) ?? new Set()
      for (const method of [route.method].flat()) methods.add(method)
      methodsByUrl.set(route.url, methods)
      index = null
    },
    reply,
    refuseUndeclared(request, answer, done) {
      if (request.is404) return reply(request, answer)
      const declared = pathsOf().likeIds.get(pathOf(request))
      const { method } = request
      if (declared === undefined || declared.has(method)) done()
      else reply(request, answer)
    },
  }
}

/** Templates as patterns, and the static paths that a template matches too. */
function indexOf(methodsByUrl: ReadonlyMap<string, Methods>) {
  const urls = [...methodsByUrl]
  const templates = urls
    .filter(([url]) => url.includes(':'))
    .map(([url, methods]) => ({ pattern: patternOf(url), methods }))
  const likeIds = new Map<string, Methods>(
    urls.filter(([url]) => !url.includes(':') && templates.some(({ pattern }) => pattern.test(url))),
  )
  return { templates, likeIds }
}

function pathOf({ url }: FastifyRequest): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** `/v1/wallets/:wallet_id` as a pattern in which a parameter is anything but a slash. */
function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}
