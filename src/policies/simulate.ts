/**
 * Says what a policy would say of a request now, and why. The request is prepared as a real one, by the same code, up to its append:
 * nothing is recorded.
 */

import type { TSchema } from '@sinclair/typebox'
import type { PolicyRefused } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { Per } from '../core/policy.ts'
import { refusedByLimit } from '../core/policy-limit.ts'
import { roomIn, type SpentBy } from '../core/spend-limits.ts'
import type { Accept } from '../event-log/accept.ts'
import type { PrepareContext } from '../transactions/send-context.ts'
import type { CompiledPolicy } from './compile.ts'
import type { RuleReservation } from './count-limit.ts'
import type { NeededApproval } from './decide.ts'
import { type ExplainedRule, explainRules } from './explain.ts'
import type { Judged } from './intent.ts'
import type { Judge, ShadowVerdict } from './judge.ts'
import type { InForce, PoliciesInForce } from './policies-in-force.ts'
import { refusedByPolicy } from './refusal.ts'

export type SimulatedReservation = {
  readonly reservation: RuleReservation
  readonly per: Per
  /** After the request; below zero if it does not fit. */
  readonly left: bigint
  /** ISO 8601 UTC; when it fits, if nothing else is spent until then; `null` if it fits now, or never. */
  readonly roomAt: string | null
  /** Whether the counter has what was spent before: the active version counts on it, or a shadow that is seeded. */
  readonly isCounted: boolean
}

export type SimulatedPart = {
  readonly request: Judged
  readonly outcome: 'allowed' | 'denied' | 'limited' | 'needs_approval'
  readonly refusal: PolicyRefused | null
  readonly refusedBy: readonly (string | null)[]
  readonly rules: readonly ExplainedRule[]
  readonly matched: readonly string[]
  readonly reservations: readonly SimulatedReservation[]
  readonly approvals: readonly NeededApproval[]
}

/** Stands for the parts that record and refuse. */
export type Pretending = {
  readonly accept: Accept
  readonly judge: Judge
  readonly judgeTransaction: Judge['transaction']
  readonly limitsOf: PrepareContext['limitsOf']
}

/** Prepares the request with the parts that pretend. @throws the errors of the request */
export type Prepare = (pretending: Pretending, metadata: Metadata, environment: Environment) => Promise<unknown>

/** A kind of request that a policy can be simulated with: prepared as the real one, with parts that record nothing. */
export type SimulatedRequest = {
  /** Orders them in the API document, the smallest first. */
  readonly place: number
  /** Of its own route. */
  readonly body: TSchema
  readonly prepare: (walletId: string, body: never) => Prepare
}

/** What a simulation needs. */
export type Simulating = {
  readonly policies: {
    /** A judge by this policy, whatever is in force. */
    readonly judgeBy: (policy: CompiledPolicy) => Judge
    readonly inForce: Pick<PoliciesInForce, 'of'>
  }
  readonly readSpent: (reservations: readonly RuleReservation[], now: string) => Promise<SpentBy>
}

/** One part for each transaction or signature of the request, in their order. */
export async function simulate(
  { policies, readSpent }: Simulating,
  policy: CompiledPolicy,
  prepare: Prepare,
  metadata: Metadata,
  environment: Environment,
): Promise<readonly SimulatedPart[]> {
  const judge = policies.judgeBy(policy)
  // Limits of the key of the caller are not simulated.
  await prepare({ accept, judge, judgeTransaction: judge.transaction, limitsOf: async () => [] }, metadata, environment)
  const verdicts = judge.shadowed(metadata)
  const counted = countedBy(await policies.inForce.of({ tenantId: metadata.tenantId, environment }))
  const all = verdicts.flatMap(({ decision }) => decision.reservations)
  const spent = all.length === 0 ? new Map() : await readSpent(all, verdicts[0]?.request.at ?? '')
  const taken = new Map<string, bigint>()
  return verdicts.map((verdict) => partOf(policy, verdict, { spent, taken, counted }))
}

/** Appends nothing. */
const accept: Accept = (_metadata, attempt) =>
  attempt(
    async ({ id, made }) => ({ id, replayed: false, made }),
    async ({ id }, made) => ({ id, replayed: false, made }),
  )

/** Names of counters that know the past. */
function countedBy({ active, shadow, isSeeded }: InForce): ReadonlySet<string> {
  const policies = [active, isSeeded ? shadow : null].filter((one) => one !== null)
  return new Set(policies.flatMap(({ rules }) => rules.flatMap(({ limit }) => limit?.name ?? [])))
}

type Counting = {
  readonly spent: SpentBy
  /** By the parts before, of the same request. */
  readonly taken: Map<string, bigint>
  readonly counted: ReadonlySet<string>
}

function partOf(policy: CompiledPolicy, { request, decision }: ShadowVerdict, counting: Counting): SimulatedPart {
  const { outcome, refusal, approvals, matched } = decision
  const reservations = decision.reservations.map((one) => roomOf(policy, one, request.at, counting))
  const [short] = reservations.filter(({ left }) => left < 0n)
  const error =
    refusal !== null
      ? refusedByPolicy(refusal, request)
      : short === undefined
        ? null
        : refusedByLimit(
            {
              left: short.left + short.reservation.amount,
              needed: short.reservation.amount,
              roomAt: short.roomAt === null ? null : new Date(short.roomAt),
            },
            short.reservation,
            policy.version,
            request,
          )
  const isLimited = refusal === null ? short !== undefined : refusal.reason === 'over_limit'
  return {
    request,
    outcome: isLimited ? 'limited' : outcome,
    refusal: error,
    refusedBy: refusal === null ? (short === undefined ? [] : [short.reservation.rule]) : decision.refusedBy,
    rules: explainRules(policy, request),
    matched: matched.map(({ rule }) => rule),
    reservations,
    approvals,
  }
}

function roomOf(
  { rules }: CompiledPolicy,
  reservation: RuleReservation,
  now: string,
  { spent, taken, counted }: Counting,
): SimulatedReservation {
  const { counter, limit, windowSeconds, amount, rule } = reservation
  const before = taken.get(counter) ?? 0n
  taken.set(counter, before + amount)
  const buckets = spent.get(counter) ?? []
  const { left, roomAt } = roomIn({ amount: `${limit}`, windowSeconds }, buckets, { needed: amount + before, now })
  const counting = rules.find((one) => one.rule.id === rule)?.limit
  const isCounted = counting != null && counted.has(counting.name)
  return { reservation, per: counting?.per ?? 'tenant', left: left - before - amount, roomAt, isCounted }
}

declare module '../api-context.ts' {
  interface ApiParts {
    readonly simulating: Simulating
  }
  interface RouteParts {
    /** The requests that a policy can be simulated with, by their fields of the body. Called when the routes are registered. */
    readonly simulated: () => Readonly<Record<string, SimulatedRequest>>
  }
  interface ApiPart {
    /** The requests that a policy can be simulated with, by their fields of the body. */
    readonly simulates?: Readonly<Record<string, SimulatedRequest>>
  }
}
