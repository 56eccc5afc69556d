/** Metrics of quotas, of requests that their API key did not let in, and of policies. */
import { Counter, type Registry } from 'prom-client'
import type { Quota } from '../core/quotas.ts'

/** `invalid`: unknown, expired or revoked. `limit`: what it may spend, or its requests a day. */
export type KeyRefusal = 'missing' | 'invalid' | 'address' | 'scope' | 'limit'

export type QuotaMetrics = {
  /** One request refused because its tenant reached a quota. */
  readonly countQuotaRefusal: (quota: Quota) => void
  /** One request refused because of its API key. */
  readonly countKeyRefusal: (reason: KeyRefusal) => void
  /** One request refused by a rule of a policy, or by its default: `rule` is `null`; with `shadow` it would have been. */
  readonly countPolicyRefusal: (refusal: PolicyRefusal) => void
  /** One request judged again: another version was in force by its append, or its wallet had other tags. */
  readonly countRejudged: () => void
  /** So many requests that are not signed, because they are not as the policy of the log says. */
  readonly countPolicyMismatches: (requests: number) => void
}

type PolicyRefusal = { readonly rule: string | null; readonly reason: string; readonly shadow: boolean }

/** Rules that have a series of their own, the first of all tenants: tenants name their rules. */
const MAX_RULES = 200

export function createQuotaMetrics(registry: Registry): QuotaMetrics {
  const registers = [registry]
  const refusals = new Counter({
    name: 'bursar_quota_refusals_total',
    help: 'Requests refused because the tenant reached a quota, by quota.',
    labelNames: ['quota'],
    registers,
  })
  const keys = new Counter({
    name: 'bursar_api_key_refusals_total',
    help: 'Requests refused because of their API key: `missing`, `invalid` (unknown, expired or revoked), `address`, `scope` or `limit`.',
    labelNames: ['reason'],
    registers,
  })
  const policies = new Counter({
    name: 'bursar_policy_refusals_total',
    help: 'Requests refused by a policy, by rule (`default` for none, `others` beyond the first 200 names), reason and effect: `refused`, or `reported` by a shadow.',
    labelNames: ['rule', 'reason', 'effect'],
    registers,
  })
  const rejudged = new Counter({
    name: 'bursar_policy_rejudged_total',
    help: 'Requests judged again, because another version of the policy or other tags of the wallet were in force when they were recorded.',
    registers,
  })
  const mismatches = new Counter({
    name: 'bursar_policy_mismatches_total',
    help: 'Checks by a signer or a party that found a recorded request not to be as the policy of the log says. It is checked again as long as it waits.',
    registers,
  })
  const rules = new Set<string>()
  const labelOf = (rule: string | null) => {
    if (rule === null) return 'default'
    if (rules.size < MAX_RULES) rules.add(rule)
    return rules.has(rule) ? rule : 'others'
  }
  return {
    countPolicyRefusal: ({ rule, reason, shadow }) =>
      policies.inc({ rule: labelOf(rule), reason, effect: shadow ? 'reported' : 'refused' }),
    countRejudged: () => rejudged.inc(),
    countPolicyMismatches: (requests) => mismatches.inc(requests),
    countQuotaRefusal: (quota) => refusals.inc({ quota }),
    countKeyRefusal: (reason) => keys.inc({ reason }),
  }
}
