/** What a caller is told when a limit of the policy has no room. Pure. */
import { PolicyRefused } from './errors.ts'
import { formatAmount } from './money.ts'
import type { Environment } from './networks.ts'
import type { PolicyPart } from './policy-part.ts'
import type { Reservation } from './spend-limits.ts'

/** What the append says about a limit without room: base units, and when there is room; `null` if it is more than the limit. */
export type NoRoom = {
  readonly counter: string
  readonly left: bigint
  readonly needed: bigint
  readonly roomAt: Date | null
}

/** What judging gives an opening event to record. */
export type JudgedParts = { readonly policy?: PolicyPart; readonly reservations?: readonly Reservation[] }

/** A request that was judged, or is about to be recorded. */
export type Reserving = JudgedParts & { readonly environment: Environment; readonly walletId: string | null }

/** @returns `null` for a counter of others, such as that of a limit of an API key. @param requests what the commit opens */
export function policyLimitOf(noRoom: NoRoom, requests: readonly Reserving[]): PolicyRefused | null {
  for (const { reservations = [], policy, environment, walletId } of requests) {
    const found = reservations.find(({ counter, rule }) => counter === noRoom.counter && rule !== undefined)
    if (found !== undefined) return refusedByLimit(noRoom, found, policy?.version ?? 0, { environment, walletId })
  }
  return null
}

/** The error for a limit without room. @param version of the policy */
export function refusedByLimit(
  { left, needed, roomAt }: Omit<NoRoom, 'counter'>,
  { rule, unit, decimals, limit, windowSeconds }: Reservation,
  version: number,
  about: PolicyRefused['about'],
): PolicyRefused {
  const written = (amount: bigint) => formatAmount(amount, decimals)
  const availableAt = roomAt?.toISOString() ?? null
  const when =
    availableAt === null
      ? 'It is more than the limit: send less.'
      : `There is room for it at ${availableAt}, or send less.`
  const counted = (amount: bigint) =>
    unit === 'transactions' && amount === 1n ? '1 transaction' : `${written(amount)} ${unit}`
  const message = `The rule ${rule} of the policy has ${counted(left)} left, and this needs ${counted(needed)}. ${when}`
  return new PolicyRefused('policy_limit', message, about, {
    rule: rule ?? null,
    version,
    limit: written(limit),
    left: written(left),
    needed: written(needed),
    unit,
    window_seconds: windowSeconds,
    available_at: availableAt,
  })
}
