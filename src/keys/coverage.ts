/**
 * What a holder of a share answers when it is asked to sign: whether the log wants exactly this signed. Whoever asks may lie
 * in every field, so each is compared with what is recorded, and what is not recognised is not covered.
 */

/**
 * `rule` says in words what the request broke, for the log of the one who refuses. `signedNonce` is there when nothing is
 * wrong but the nonce, because the one who is asked has helped to sign the same under this one.
 */
export type Coverage =
  | { readonly covered: true }
  | { readonly covered: false; readonly rule: string; readonly signedNonce?: number }

export const COVERED: Coverage = { covered: true }

export function notCovered(rule: string): Coverage {
  return { covered: false, rule }
}

/** Whether two texts write the same bytes: addresses, call data. A value that is no text writes none. */
export function sameHex(asked: unknown, recorded: string): boolean {
  return typeof asked === 'string' && asked.toLowerCase() === recorded.toLowerCase()
}
