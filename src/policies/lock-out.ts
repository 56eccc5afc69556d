/**
 * Whether a policy leaves no way to publish another one: every API key that may publish expires, and the policy lets none of them
 * create a key. An operator could still issue one. Pure.
 */
import { actorOfApiKey } from '../core/messages.ts'
import type { Owner } from '../core/tenants.ts'
import type { CompiledPolicy } from './compile.ts'
import { decide } from './decide.ts'
import { judgedKeyChange } from './signature-intents.ts'

/** A live API key with the scope that publishes. */
export type Publisher = {
  readonly keyId: string
  readonly expires: boolean
  /** It may create keys, and so give the scope. */
  readonly createsKeys: boolean
}

const HOUR_MS = 3_600_000
/** A rule with a time is asked in each hour of a month. */
const HOURS = 31 * 24
/** Of those that may create keys; the others are in the same case, or an operator is needed anyway. */
const MAX_ASKED = 20

export function locksOut(
  policy: CompiledPolicy,
  { tenantId, environment }: Owner,
  publishers: readonly Publisher[],
  nowMs: number,
): boolean {
  if (publishers.some(({ expires }) => !expires)) return false
  const creators = publishers.filter(({ createsKeys }) => createsKeys).slice(0, MAX_ASKED)
  const hours = policy.rules.some(({ rule }) => rule.match.time !== undefined) ? HOURS : 1
  if (creators.length === 0) return false
  // All keys of an hour: what the clocks of a zone show is computed once for each.
  for (let n = 0; n < hours; n += 1) {
    const requestedAt = new Date(nowMs + n * HOUR_MS).toISOString()
    for (const { keyId } of creators) {
      const judged = judgedKeyChange({ tenantId, environment, requestedAt }, { actor: actorOfApiKey(keyId) })
      if (decide(policy, judged).outcome === 'allowed') return false
    }
  }
  return true
}
