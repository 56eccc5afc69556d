/** Why this party refuses a request, as an error that is sent to the coordinator. */
import type { Refusal } from './protocol.ts'

export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Only a recovery restores a share that is missing or corrupted. */
const LOST: ReadonlySet<string> = new Set(['mpc_share_missing', 'sealed_secret_damaged'])

/** The refusal for an error; for an unexpected error only a safe message. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'
  if (LOST.has(code)) return { kind: 'share_missing', party: null, reason: `the party has no usable share (${code})` }
  return { kind: 'unavailable', party: null, reason: `the party cannot do this now (${code})` }
}
