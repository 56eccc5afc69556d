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

/** What the coordinator is told of an error: of one that is not a refusal, no more than a person may read. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusalError) return error.refusal
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'
  return { kind: 'unavailable', party: null, reason: `the party cannot do this now (${code})` }
}
