/**
 * What a policy says about a request. Pure, and independent of the order of rules and of intents: any denial wins, every limit
 * must fit, approvals add up. The same function decides, shadows, simulates and tests a policy on the past.
 */

import type { Effect, Rule } from '../core/policy.ts'
import type { Reservation } from '../core/spend-limits.ts'
import {
  both,
  type CompiledPolicy,
  type CompiledRule,
  type Held,
  type Totals,
  totalsOf,
  usdOf,
  type Value,
} from './compile.ts'
import { countLimit, type RuleReservation } from './count-limit.ts'
import type { Intent, Judged } from './intent.ts'

/**
 * Why a request is refused. `denied`: a rule denies it. `unknown_price`: a rule compares US dollars, and the price is not known or
 * too old. `uncounted`: a limit is about it, and what it can move has no bound. `over_limit`: it is more than a limit.
 * `not_allowed`: no rule allows it, and the default denies.
 */
export const REASONS = ['denied', 'unknown_price', 'uncounted', 'over_limit', 'not_allowed'] as const

export type Refusal = {
  readonly reason: (typeof REASONS)[number]
  /** `null` for the default. */
  readonly rule: string | null
  readonly version: number
  /** Of `over_limit`: the limit and what is needed of it. */
  readonly reservation: Reservation | null
}

export type NeededApproval = {
  readonly group: string
  readonly quorum: number
  readonly expiresInSeconds: number
  /** The rules that ask for it. */
  readonly rules: readonly string[]
}

export type MatchedRule = {
  readonly rule: string
  readonly effect: Effect
  /** Indexes of the intents that it is about. */
  readonly intents: readonly number[]
}

export type PolicyDecision = {
  readonly outcome: 'allowed' | 'denied' | 'needs_approval'
  /** The first of all that refuse it, by reason and rule; `null` if none does. */
  readonly refusal: Refusal | null
  /** Rules that refuse it, each once. */
  readonly refusedBy: readonly (string | null)[]
  /** Of every limit that is about it, each counter once, also if it is refused: a shadow counts too. */
  readonly reservations: readonly RuleReservation[]
  readonly approvals: readonly NeededApproval[]
  readonly matched: readonly MatchedRule[]
  /** What it can move, millionths of US dollars; `null` without a bound or a known price. */
  readonly usd: bigint | null
}

type Verdict = {
  readonly refusals: Refusal[]
  /** By counter. */
  readonly reservations: Map<string, RuleReservation>
  readonly asking: Rule[]
  readonly matched: MatchedRule[]
  /** By intent. */
  readonly isAllowed: boolean[]
}

/** What the rules of one request share. */
type Case = {
  readonly request: Judged
  readonly version: number
  readonly atMs: number
  /** What a price must not be older than. */
  readonly oldestMs: number
  readonly totals: Totals
  /** What only limits need. */
  limited: Limited | null
}

type Limited = {
  /** The intents as if each moved the fee. */
  readonly feeIntents: readonly Intent[]
  /** In US dollars; `null` until a limit asks for it. */
  feeValue: Value | null
  /** By the length of the window: many limits have the same. */
  readonly buckets: Map<number, string>
}

export function decide(policy: CompiledPolicy, request: Judged): PolicyDecision {
  const { version, maxPriceAgeMs } = policy
  const { intents, at } = request
  const atMs = Date.parse(at)
  const oldestMs = atMs - maxPriceAgeMs
  const totals = totalsOf(intents, oldestMs)
  const one: Case = { request, version, atMs, oldestMs, totals, limited: null }
  const isAllowed = new Array<boolean>(intents.length).fill(policy.default === 'allow')
  const verdict: Verdict = { refusals: [], reservations: new Map(), asking: [], matched: [], isAllowed }
  for (const compiled of policy.rules) applyRule(compiled, one, verdict)
  if (verdict.isAllowed.includes(false)) verdict.refusals.push(refusalOf(one, 'not_allowed', null))
  const refusals = verdict.refusals.sort(byReason)
  const approvals = verdict.asking.length === 0 ? [] : approvalsOf(verdict.asking)
  const [refusal = null] = refusals
  return {
    outcome: refusal !== null ? 'denied' : approvals.length > 0 ? 'needs_approval' : 'allowed',
    refusal,
    refusedBy: refusals.length === 0 ? [] : [...new Set(refusals.map(({ rule }) => rule))],
    reservations: [...verdict.reservations.values()],
    approvals,
    matched: verdict.matched,
    usd: typeof totals.usd === 'bigint' ? totals.usd : null,
  }
}

function applyRule(compiled: CompiledRule, one: Case, verdict: Verdict): void {
  const { rule } = compiled
  const { request, atMs, totals } = one
  const ofRequest = heldByRequest(compiled, request, atMs)
  if (ofRequest === 'no') return
  const about: number[] = []
  let isUnpriced = false
  for (let n = 0; n < request.intents.length; n += 1) {
    const held = heldByIntent(compiled, request.intents[n] as Intent, totals, ofRequest)
    if (rule.effect === 'allow' ? held === 'yes' : isOpen(held)) about.push(n)
    if (held === 'unpriced' && rule.effect !== 'allow') isUnpriced = true
  }
  if (isUnpriced) withoutPrice(rule, one, verdict)
  const isLimiting = applyLimit(compiled, one, { about, ofRequest }, verdict)
  if (about.length === 0 && !isUnpriced && !isLimiting) return
  verdict.matched.push({ rule: rule.id, effect: rule.effect, intents: about })
  if (rule.effect === 'allow') for (const n of about) verdict.isAllowed[n] = true
  if (about.length === 0) return
  if (rule.effect === 'deny') verdict.refusals.push(refusalOf(one, 'denied', rule.id))
  if (rule.effect === 'require_approval') verdict.asking.push(rule)
}

/** Whether a restriction is about what holds so far. */
function isOpen(held: Held): boolean {
  return held === 'yes' || held === 'maybe'
}

function heldByRequest({ ofRequest }: CompiledRule, request: Judged, atMs: number): Held {
  let held: Held = 'yes'
  for (let n = 0; n < ofRequest.length && held !== 'no'; n += 1)
    held = both(held, ofRequest[n]?.held(request, atMs) ?? 'no')
  return held
}

function heldByIntent({ ofIntent }: CompiledRule, intent: Intent, totals: Totals, before: Held): Held {
  let held = before
  for (let n = 0; n < ofIntent.length && held !== 'no'; n += 1)
    held = both(held, ofIntent[n]?.held(intent, totals) ?? 'no')
  return held
}

function withoutPrice(rule: Rule, one: Case, verdict: Verdict): void {
  if (rule.onUnknownPrice === 'require_approval') verdict.asking.push(rule)
  else verdict.refusals.push(refusalOf(one, 'unknown_price', rule.id))
}

function refusalOf(
  { version }: Case,
  reason: Refusal['reason'],
  rule: string | null,
  reservation: Reservation | null = null,
): Refusal {
  return { reason, rule, version, reservation }
}

function byReason(a: Refusal, b: Refusal): number {
  return REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason) || compare(a.rule ?? '', b.rule ?? '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** One of each group: the highest quorum, the shortest time. */
function approvalsOf(rules: readonly Rule[]): readonly NeededApproval[] {
  const groups = new Map<string, NeededApproval>()
  for (const { id, approval } of rules) {
    if (approval === undefined) throw new Error(`the rule ${id} asks for an approval and names no group`)
    const { group, quorum, expiresInSeconds } = approval
    const known = groups.get(group)
    const rest = known?.rules ?? []
    groups.set(group, {
      group,
      quorum: Math.max(quorum, known?.quorum ?? 0),
      expiresInSeconds: Math.min(expiresInSeconds, known?.expiresInSeconds ?? expiresInSeconds),
      rules: rest.includes(id) ? rest : [...rest, id],
    })
  }
  return [...groups.values()].sort((a, b) => (a.group < b.group ? -1 : 1))
}

/** Two rules that limit the same count once, and the lower limit must have room. */
function reserve(reservations: Map<string, RuleReservation>, reservation: RuleReservation): void {
  const found = reservations.get(reservation.counter)
  if (found === undefined || reservation.limit < found.limit) reservations.set(reservation.counter, reservation)
}

/** What the request matches of the rule: its intents, and how its own conditions hold. */
type About = { readonly about: readonly number[]; readonly ofRequest: Held }

/** @returns whether anything counts. The fee does, too, if the rule were about a request that moves it. */
function applyLimit(compiled: CompiledRule, one: Case, { about, ofRequest }: About, verdict: Verdict): boolean {
  const { rule, limit } = compiled
  // A change of an API key is about no wallet, and counts towards no limit.
  if (limit === null || one.request.walletId === null) return false
  one.limited ??= limitedOf(one)
  const { request, totals, limited: shared, oldestMs } = one
  const payers: Intent[] = []
  for (const intent of shared.feeIntents)
    if (isOpen(heldByIntent(compiled, intent, totals, ofRequest))) payers.push(intent)
  if (limit.of === 'usd') shared.feeValue ??= usdOf(request.fee, oldestMs)
  const feeValue = shared.feeValue ?? 0n
  const limited = { request, about, payers, feeValue, buckets: shared.buckets, values: totals.values }
  const { reservations, isUncounted, isUnpriced } = countLimit(limit, limited)
  if (isUncounted) verdict.refusals.push(refusalOf(one, 'uncounted', rule.id))
  if (isUnpriced) withoutPrice(rule, one, verdict)
  for (const reservation of reservations) {
    reserve(verdict.reservations, reservation)
    if (reservation.amount > reservation.limit)
      verdict.refusals.push(refusalOf(one, 'over_limit', rule.id, reservation))
  }
  return reservations.length > 0 || isUnpriced
}

function limitedOf({ request: { intents, fee } }: Case): Limited {
  const feeIntents = fee === null ? [] : intents.map((intent) => ({ ...intent, moves: fee }))
  return { feeIntents, feeValue: null, buckets: new Map() }
}
