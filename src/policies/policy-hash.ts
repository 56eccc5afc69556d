/** What a version of a policy is recognised by. */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import type { Policy } from '../core/policy.ts'

/** SHA-256 of its canonical JSON (RFC 8785), hex. */
export function policyHash(policy: Policy): string {
  return createHash('sha256').update(canonicalJson(policy)).digest('hex')
}
