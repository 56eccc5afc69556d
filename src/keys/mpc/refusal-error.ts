/** Why this party does not do what it was asked to, on its way to the coordinator. */
import type { Refusal } from './protocol.ts'

export class RefusalError extends Error {
  override readonly name = 'RefusalError'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

/** Only a recovery brings back a share that is gone, or of which a byte changed. */
const LOST: ReadonlySet<string> = new Set(['mpc_share_missing', 'sealed_secret_damaged'])

/** What the coordinator is told of an error: of one that is not a refusal, no more than a person may read. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'
  if (LOST.has(code)) return { kind: 'share_missing', party: null, reason: `the party has no share to use (${code})` }
  return { kind: 'unavailable', party: null, reason: `the party cannot do this now (${code})` }
}
