/** What a caller is told when the policy refuses a request: the rule, its version, and what is left of a limit. Pure. */
import { PolicyRefused } from '../core/errors.ts'
import { formatAmount } from '../core/money.ts'
import type { Reservation } from '../core/spend-limits.ts'
import type { Refusal } from './decide.ts'

/** What the append says about a limit without room: base units, and when there is room; `null` if it is more than the limit. */
export type NoRoom = {
  readonly counter: string
  readonly left: bigint
  readonly needed: bigint
  readonly roomAt: Date | null
}

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
export function refusedByPolicy({ reason, rule, version, reservation }: Refusal): PolicyRefused {
  if (reason === 'over_limit') {
    if (reservation === null) throw new Error('a refusal by a limit must have its reservation')
    const { counter, limit, amount } = reservation
    return refusedByLimit({ counter, left: limit, needed: amount, roomAt: null }, [reservation], version)
  }
  return new PolicyRefused('policy_denied', WHY[reason](rule ?? ''), { rule, version, reason })
}

/** The error for a limit without room. @param reservations of the request */
export function refusedByLimit(
  { counter, left, needed, roomAt }: NoRoom,
  reservations: readonly Reservation[],
  version: number,
): PolicyRefused {
  const found = reservations.find((one) => one.counter === counter)
  const written = (amount: bigint) => formatAmount(amount, found?.decimals ?? 0)
  const rule = found?.rule ?? null
  const availableAt = roomAt?.toISOString() ?? null
  const when =
    availableAt === null
      ? 'It is more than the limit: send less.'
      : `There is room for it at ${availableAt}, or send less.`
  const message = `The rule ${rule} of the policy has ${written(left)} ${found?.unit} left, and this needs ${written(needed)}. ${when}`
  return new PolicyRefused('policy_limit', message, {
    rule,
    version,
    limit: written(found?.limit ?? 0n),
    left: written(left),
    needed: written(needed),
    unit: found?.unit ?? null,
    window_seconds: found?.windowSeconds ?? null,
    available_at: availableAt,
  })
}
