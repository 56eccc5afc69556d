/**
 * Checks of a share holder before it signs: whether the log contains exactly this request. The requester may lie in
 * every field, so each is compared with the record, and unknown requests are not covered.
 */

/**
 * `rule` is the violated rule, for the log of the party that refuses. `signedNonce` is set when only the nonce differs,
 * because this party has already helped to sign the same transaction with that nonce. `isFiller`: the transaction only
 * fills a gap of nonces, and the holder counts how many of these it signs.
 */
export type Coverage =
  | { readonly covered: true; readonly isFiller?: true }
  | { readonly covered: false; readonly rule: string; readonly signedNonce?: number }

export const COVERED: Coverage = { covered: true }

export function notCovered(rule: string): Coverage {
  return { covered: false, rule }
}

/** Whether two texts encode the same bytes, for addresses and call data. A value that is not text never matches. */
export function sameHex(asked: unknown, recorded: string): boolean {
  return typeof asked === 'string' && asked.toLowerCase() === recorded.toLowerCase()
}
