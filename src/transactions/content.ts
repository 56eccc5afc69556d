/** A digest of what a transaction does: two transactions of one account with the same digest do the same. */
import { createHash } from 'node:crypto'
import { buildCall, buildCancellation } from './build-call.ts'
import type { KnownTransaction } from './state.ts'

export function contentOf(call: { readonly to: string | null; readonly value: bigint; readonly data: string }): string {
  const text = `${call.to?.toLowerCase() ?? ''} ${call.value} ${call.data.toLowerCase()}`
  return createHash('sha256').update(text).digest('hex')
}

/** The purpose of newer bytes of a transaction; `null` when they do something else and are foreign. */
export function purposeOf({ intent }: KnownTransaction, content: string): 'bump' | 'cancel' | null {
  if (content === contentOf(buildCall(intent))) return 'bump'
  return content === contentOf(buildCancellation(intent)) ? 'cancel' : null
}
