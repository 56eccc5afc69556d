/**
 * Which events a caller may read, and which of them with their data. An event is shown to API keys of its own environment. Its data
 * is shown to keys that have the scope of the route that shows the same facts: `audit:read` opens no other door.
 */
import type { Environment } from '../core/networks.ts'
import { ALL_SCOPES, allows } from '../core/scopes.ts'
import { STREAMS } from '../declarations.ts'

export type Reader = {
  readonly tenantId: string
  readonly environment: Environment
  readonly scopes: ReadonlySet<string>
}

/** @returns the scope that the reader lacks for the data of an event; null when it may see all of it */
export function missingScope(
  { scopes }: Pick<Reader, 'scopes'>,
  { streamId, type }: { readonly streamId: string; readonly type: string },
): string | null {
  const category = streamId.slice(0, streamId.indexOf('-'))
  const stream = STREAMS[category]
  const guard = stream?.readScopeOf?.[type] ?? stream?.readScope ?? ALL_SCOPES
  const isAllowed = guard === ALL_SCOPES ? scopes.has(ALL_SCOPES) : allows(scopes, guard)
  return isAllowed ? null : guard
}
