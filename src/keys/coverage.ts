/**
 * Checks of a share holder before it signs: whether the log contains exactly this request. The requester may lie in
 * every field, so each is compared with the record, and unknown requests are not covered.
 */

/**
 * `rule` is the violated rule, for the log of the party that refuses. `signedNonce` is set when only the nonce differs,
 * because this party has already helped to sign the same transaction with that nonce. `isFiller`: the transaction only
 * fills a gap of nonces, and the holder counts how many of these it signs. `limits`: what it reserves of limits of a policy, which
 * the holder adds up.
 */
export type Coverage =
  | { readonly covered: true; readonly isFiller?: true; readonly limits?: readonly SpentLimit[] }
  | { readonly covered: false; readonly rule: string; readonly signedNonce?: number }

/** What a transaction reserves of a limit. Amounts in base units. */
export type SpentLimit = {
  readonly counter: string
  /** The begin of a bucket, ISO 8601. */
  readonly bucket: string
  readonly windowSeconds: number
  readonly limit: bigint
  readonly amount: bigint
  /** What stays spent once a block has the transaction, whatever its outcome. */
  readonly kept: bigint
}

export const COVERED: Coverage = { covered: true }

export function notCovered(rule: string): Coverage {
  return { covered: false, rule }
}

/** Whether two texts encode the same bytes, for addresses and call data. A value that is not text never matches. */
export function sameHex(asked: unknown, recorded: string): boolean {
  return typeof asked === 'string' && asked.toLowerCase() === recorded.toLowerCase()
}
