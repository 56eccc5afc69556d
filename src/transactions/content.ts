/** What a transaction does, as a digest: two transactions of one account that have the same one do the same. */
import { createHash } from 'node:crypto'
import { buildCall, buildCancellation } from './build-call.ts'
import type { KnownTransaction } from './state.ts'

export function contentOf(call: { readonly to: string | null; readonly value: bigint; readonly data: string }): string {
  const text = `${call.to?.toLowerCase() ?? ''} ${call.value} ${call.data.toLowerCase()}`
  return createHash('sha256').update(text).digest('hex')
}

/** As what newer bytes of a transaction were signed; `null` when they do something else: a stranger's. */
export function purposeOf(transaction: KnownTransaction, content: string): 'bump' | 'cancel' | null {
  if (content === contentOf(buildCall(transaction))) return 'bump'
  return content === contentOf(buildCancellation(transaction)) ? 'cancel' : null
}
