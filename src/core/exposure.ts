/** What an API process shows to everybody who reaches its address. Pure. */

/** Answered without a key, wherever the API listens. */
const WITHOUT_KEY = ['/healthz', '/readyz', '/docs', '/openapi.json'] as const

export type Listening = {
  readonly host: string
  /** Proxies that are trusted: one of them terminates TLS. */
  readonly trustedProxies: readonly string[]
  readonly serveMetrics: boolean
}

/** Whether only programs of this machine reach the address. */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase().replace(/^::ffff:/, '')
  return address === 'localhost' || address === '::1' || /^127(\.\d{1,3}){3}$/.test(address)
}

/** The paths that others can read without a key and over plain HTTP; `null` on loopback, and behind a trusted proxy. */
export function exposedPaths({ host, trustedProxies, serveMetrics }: Listening): readonly string[] | null {
  if (isLoopback(host) || trustedProxies.length > 0) return null
  return [...WITHOUT_KEY, ...(serveMetrics ? ['/metrics'] : [])]
}
