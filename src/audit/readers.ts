/**
 * Which events a caller may read, and which of them with their data. An event is shown to API keys of its own environment. Its data
 * is shown to keys that have the scope of the route that shows the same facts: `audit:read` opens no other door.
 */
import type { Environment } from '../core/networks.ts'
import { ALL_SCOPES, allows, type Scope } from '../core/scopes.ts'

export type Reader = {
  readonly tenantId: string
  readonly environment: Environment
  readonly scopes: ReadonlySet<string>
}

/** What guards the data of an event: a scope, or `*` for what no route shows. */
export type Guard = Scope | typeof ALL_SCOPES

/** By the category of the stream, which stands before the first hyphen of its id. */
const GUARDS: Readonly<Record<string, Guard>> = {
  wallet: 'wallets:read',
  keyindexes: 'wallets:read',
  balance: 'wallets:read',
  transaction: 'transactions:read',
  signature: 'signatures:read',
  asset: 'assets:read',
  collection: 'nft:read',
  mint: 'nft:read',
  token: 'nft:read',
  ownership: 'nft:read',
  nftx: 'nft:read',
  mpckey: 'recovery:read',
  // The sealed key that recovery:export guards is in no event.
  export: 'recovery:read',
  apikey: ALL_SCOPES,
}

/** Whoever has signed bytes can send them, even when their owner has cancelled the transaction since: reading is not enough. */
const GUARDS_OF_TYPES: Readonly<Record<string, Guard>> = {
  TransactionSigned: 'transactions:write',
  TransactionReplaced: 'transactions:write',
}

/** @returns the scope that the reader lacks for the data of an event; null when it may see all of it */
export function missingScope(
  { scopes }: Pick<Reader, 'scopes'>,
  { streamId, type }: { readonly streamId: string; readonly type: string },
): Guard | null {
  const category = streamId.slice(0, streamId.indexOf('-'))
  const guard = GUARDS_OF_TYPES[type] ?? GUARDS[category] ?? ALL_SCOPES
  const isAllowed = guard === ALL_SCOPES ? scopes.has(ALL_SCOPES) : allows(scopes, guard)
  return isAllowed ? null : guard
}
