/**
 * Whether a recorded request is one that a version of the policy lets through, with everything that it counts. Windows aside: they are
 * what the append compares. Pure.
 */
import type { PolicyPart } from '../core/policy-part.ts'
import type { Reservation } from '../core/spend-limits.ts'
import type { CompiledPolicy } from './compile.ts'
import { decide, type PolicyDecision } from './decide.ts'
import type { Judged } from './intent.ts'

/** Versions of the policy; 0 for none. */
export type Versions = { readonly active: number; readonly shadow: number }

/** What is wrong with the versions that a request names, as the rest of a sentence; `null` if it names those that were in force. */
export function namedProblem(named: PolicyPart | undefined, inForce: Versions): string | null {
  const { version = 0, shadow = 0 } = named ?? {}
  if (version === inForce.active && shadow === inForce.shadow) return null
  const were = `${versionText(inForce)} when it was recorded`
  return named === undefined
    ? `it names no policy, but the log had ${were}`
    : `it names ${versionText({ active: version, shadow })}, but the log had ${were}`
}

function versionText({ active, shadow }: Versions): string {
  const names = [
    ...(active === 0 ? [] : [`version ${active} of the policy`]),
    ...(shadow === 0 ? [] : [`version ${shadow} as a shadow`]),
  ]
  return names.length === 0 ? 'no policy' : names.join(' and ')
}

/**
 * Why a version forbids a request, or what the request does not count, as a sentence; `null` if nothing. More reservations than needed are
 * no problem: those of API keys are among them, and they only make it stricter.
 *
 * @param isShadow it forbids nothing, and counts without having to fit
 */
export function decisionProblem(
  policy: CompiledPolicy,
  judged: Judged,
  recorded: readonly Reservation[],
  { isShadow }: { readonly isShadow: boolean },
): string | null {
  const { outcome, refusal, approvals, reservations }: PolicyDecision = decide(policy, judged)
  if (!isShadow && outcome !== 'allowed') {
    const rule = refusal === null ? approvals[0]?.rules[0] : refusal.rule
    const by = rule == null ? 'its default' : `its rule ${rule}`
    return `version ${policy.version} of the policy forbids it, by ${by} (${refusal?.reason ?? outcome})`
  }
  const missing = reservations.find((needed) => !recorded.some((one) => counts(one, needed, isShadow)))
  if (missing === undefined) return null
  return `it does not count towards the limit of the rule ${missing.rule}, as version ${policy.version} of the policy says`
}

function counts(recorded: Reservation, needed: Reservation, isShadow: boolean): boolean {
  const { counter, bucket, windowSeconds, amount, kept } = recorded
  return (
    counter === needed.counter &&
    windowSeconds === needed.windowSeconds &&
    Date.parse(bucket) === Date.parse(needed.bucket) &&
    amount >= needed.amount &&
    kept >= needed.kept &&
    (isShadow || recorded.limit <= needed.limit) &&
    (isShadow || recorded.mustFit !== false)
  )
}
