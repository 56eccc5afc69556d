/**
 * Which events a caller may read, and which of them with their data. API keys see events of their own environment. An
 * event's data requires the scope of the route that returns the same facts: `audit:read` alone does not grant it.
 */
import type { Environment } from '../core/networks.ts'
import type { Catalogue } from '../core/registry.ts'
import { ALL_SCOPES, allows, scopeOf } from '../core/scopes.ts'

export type Reader = {
  readonly tenantId: string
  readonly environment: Environment
  readonly scopes: ReadonlySet<string>
}

/**
 * @param streams every category of streams
 * @returns the scope that the reader lacks for the data of an event; null when it may see all of it
 */
export function missingScope(
  streams: Catalogue['streams'],
  { scopes }: Pick<Reader, 'scopes'>,
  { streamId, type }: { readonly streamId: string; readonly type: string },
): string | null {
  const category = streamId.slice(0, streamId.indexOf('-'))
  const stream = streams[category]
  const guard = stream?.readScopeOf?.[type] ?? stream?.readScope ?? ALL_SCOPES
  return allows(scopes, guard) ? null : scopeOf(guard)
}
