/** What a key may use in a window of time. */

/** Amounts are base units, of USD millionths, and counts are requests: decimal digits. */
export type KeyLimit =
  | { readonly of: 'asset'; readonly assetId: string; readonly amount: string; readonly windowSeconds: number }
  | { readonly of: 'usd'; readonly amount: string; readonly windowSeconds: number }
  | { readonly of: 'requests'; readonly count: string; readonly windowSeconds: number }
