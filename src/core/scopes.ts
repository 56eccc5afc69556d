/** What an API key may do: a resource and a verb. Scopes stand in events, so a name is never given another meaning. */

export const SCOPES = [
  'wallets:read',
  'wallets:write',
  'transactions:read',
  'transactions:write',
  'signatures:read',
  'signatures:write',
  'assets:read',
  'assets:write',
  'nft:read',
  'nft:write',
  'recovery:read',
  'recovery:write',
] as const

/** Stands in a key's scopes for all of them, those of later versions included. */
export const ALL_SCOPES = '*'
