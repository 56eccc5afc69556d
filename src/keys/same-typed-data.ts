/** Whether two pieces of typed data say the same, without hashing what a stranger sent. */
import { canonicalJson } from '../core/canonical-json.ts'
import type { TypedData } from './signer.ts'

/**
 * True when domain, types and message are equal in every value, field and form; then so is the digest. What differs in form
 * alone, such as a number in hex, is not the same: whoever asks has the recorded form.
 *
 * @param asked anything: what is no typed data is not the same as any
 */
export function sameTypedData(asked: unknown, recorded: TypedData): boolean {
  if (typeof asked !== 'object' || asked === null) return false
  const { domain, types, message } = asked as Partial<TypedData>
  try {
    return canonicalJson({ domain, types, message }) === canonicalJson(signedPart(recorded))
  } catch {
    // Not JSON, nested without end, or with numbers that no record holds.
    return false
  }
}

function signedPart({ domain, types, message }: TypedData) {
  return { domain, types, message }
}
