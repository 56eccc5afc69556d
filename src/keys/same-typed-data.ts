/** Whether two pieces of typed data are equal, without hashing untrusted input. */
import { canonicalJson } from '../core/canonical-json.ts'
import type { TypedData } from './signer.ts'

/**
 * True when domain, types and message are equal in every value, field and notation; then their digests are equal. A
 * different notation, such as a number in hex, is not equal: the requester has the recorded notation.
 *
 * @param asked any value; one that is not typed data is never equal
 */
export function sameTypedData(asked: unknown, recorded: TypedData): boolean {
  if (typeof asked !== 'object' || asked === null) return false
  const { domain, types, message } = asked as Partial<TypedData>
  try {
    return canonicalJson({ domain, types, message }) === canonicalJson(signedPart(recorded))
  } catch {
    // Not JSON, nested too deeply, or with numbers that a record cannot hold.
    return false
  }
}

function signedPart({ domain, types, message }: TypedData) {
  return { domain, types, message }
}
