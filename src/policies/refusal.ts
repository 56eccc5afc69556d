/** What a caller is told when the policy refuses a request: the rule, its version, and what is left of a limit. Pure. */
import { PolicyRefused } from '../core/errors.ts'
import { refusedByLimit } from '../core/policy-limit.ts'
import type { Refusal } from './decide.ts'
import type { Judged } from './intent.ts'

const WHY = {
  denied: (rule: string) =>
    `The rule ${rule} of the policy denies this request. Send what the policy allows, or change the policy.`,
  unknown_price: (rule: string) =>
    `The rule ${rule} of the policy compares US dollars, and the price of an asset is not known or too old. Try again later, or change the rule.`,
  uncounted: (rule: string) =>
    `The rule ${rule} of the policy limits amounts, and what this request can move has no bound. Send an amount, or change the rule.`,
  not_allowed: () => 'No rule of the policy allows this request, and the default denies. Add a rule that allows it.',
} as const

/** The error for a refusal by a rule, or by the default. */
export function refusedByPolicy(
  { reason, rule, version, reservation }: Refusal,
  { environment, walletId }: Pick<Judged, 'environment' | 'walletId'>,
): PolicyRefused {
  const about = { environment, walletId }
  if (reason !== 'over_limit')
    return new PolicyRefused('policy_denied', WHY[reason](rule ?? ''), about, { rule, version, reason })
  if (reservation === null) throw new Error('a refusal by a limit must have its reservation')
  const { limit: left, amount: needed } = reservation
  return refusedByLimit({ left, needed, roomAt: null }, reservation, version, about)
}
