/**
 * Tests a policy on the past: what it would have refused, limited or asked approvals for. Folds requests in the order of the log, with
 * their own times and prices, through the function that decides, and windows as the append counts them. What it refuses counts
 * towards no limit; what it asks approvals for counts as approved.
 */

import type { Effect } from '../core/policy.ts'
import type { Reservation } from '../core/spend-limits.ts'
import type { CompiledPolicy } from './compile.ts'
import { decide, type PolicyDecision } from './decide.ts'
import type { Judged } from './intent.ts'
import { createWindows } from './windows.ts'

/** What an outcome leaves of what was reserved: nothing, the fee, or all, also of an outcome that was revoked. */
export type Kept = 'nothing' | 'fee' | 'all'

export type Verdict = 'allowed' | 'denied' | 'limited' | 'needs_approval'

/** US dollars of requests whose price was known, millionths; `unpriced` counts the others that move something. */
export type Tally = { readonly requests: number; readonly usd: bigint; readonly unpriced: number }

export type RuleTally = {
  readonly rule: string | null
  readonly effect: Effect | 'default'
  readonly matched: number
} & Readonly<Record<Exclude<Verdict, 'allowed'>, Tally>>

export type LargeCase = {
  readonly id: string
  readonly at: string
  readonly verdict: Exclude<Verdict, 'allowed'>
  /** The rules that say so; `null` for the default. */
  readonly rules: readonly (string | null)[]
  /** Millionths; `null` if its price was not known. */
  readonly usd: bigint | null
}

export type BacktestResult = {
  readonly totals: Readonly<Record<Verdict, Tally>>
  /** Rules that are about at least one request, in the order of their ids. */
  readonly rules: readonly RuleTally[]
  /** The ten largest that are not allowed: in US dollars, those without a price last. */
  readonly largest: readonly LargeCase[]
}

export type Backtest = {
  /**
   * A request, in the order of the log. One before the tested time counts towards limits and in no total.
   *
   * @param id of its transaction or signature
   */
  readonly request: (id: string, judged: Judged, isBefore?: boolean) => Verdict
  /** An outcome of a request of before. @param isFinal unless its block leaves the chain */
  readonly outcome: (id: string, kept: Kept, isFinal?: boolean) => void
  /** What was found on chain: it counts towards limits, whatever the policy says of it, and in no total. */
  readonly found: (judged: Judged) => void
  /** How often something counted towards a limit: memory grows with it. */
  readonly counted: () => number
  readonly result: () => BacktestResult
}

const LARGEST = 10

/** Ended requests that are remembered, beside those that have not: a chain that goes back further is not followed. */
const MAX_SETTLED = 50_000

type Open = { readonly reservations: readonly Reservation[]; kept: Kept }
type Counting = { requests: number; usd: bigint; unpriced: number }
type RuleCounting = {
  effect: RuleTally['effect']
  matched: number
  denied: Counting
  limited: Counting
  needs_approval: Counting
}

export function createBacktest(policy: CompiledPolicy): Backtest {
  const windows = createWindows()
  const open = new Map<string, Open>()
  const settled = new Map<string, Open>()
  const totals = { allowed: none(), denied: none(), limited: none(), needs_approval: none() }
  const rules = new Map<string | null, RuleCounting>()
  let largest: LargeCase[] = []
  let counted = 0

  function ruleOf(rule: string | null, effect: RuleTally['effect']): RuleCounting {
    const known = rules.get(rule) ?? { effect, matched: 0, denied: none(), limited: none(), needs_approval: none() }
    rules.set(rule, known)
    return known
  }

  function blame(decision: PolicyDecision): { readonly verdict: Verdict; readonly by: readonly (string | null)[] } {
    const { outcome, refusal, refusedBy, reservations, approvals } = decision
    if (refusal !== null) return { verdict: refusal.reason === 'over_limit' ? 'limited' : 'denied', by: refusedBy }
    const full = reservations.filter((reservation) => windows.leftAfter(reservation) < 0n)
    if (full.length > 0) return { verdict: 'limited', by: [...new Set(full.map(({ rule }) => rule))] }
    if (outcome === 'allowed') return { verdict: 'allowed', by: [] }
    return { verdict: 'needs_approval', by: [...new Set(approvals.flatMap((approval) => approval.rules))] }
  }

  return {
    request(id, judged, isBefore = false) {
      const decision = decide(policy, judged)
      const { verdict, by } = blame(decision)
      if (verdict === 'allowed' || verdict === 'needs_approval') {
        for (const reservation of decision.reservations) windows.count(reservation, reservation.amount)
        counted += decision.reservations.length
        // Only a transaction, which has a fee, ever gives something back.
        if (decision.reservations.length > 0 && judged.fee !== null)
          open.set(id, { reservations: decision.reservations, kept: 'all' })
      }
      if (isBefore) return verdict
      const value = decision.usd
      addTo(totals[verdict], value)
      for (const { rule, effect } of decision.matched) ruleOf(rule, effect).matched += 1
      if (verdict === 'allowed') return verdict
      for (const rule of by) addTo(ruleOf(rule, 'default')[verdict], value)
      largest = [...largest, { id, at: judged.at, verdict, rules: by, usd: value }].sort(bySize).slice(0, LARGEST)
      return verdict
    },
    found(judged) {
      for (const reservation of decide(policy, judged).reservations) windows.count(reservation, reservation.amount)
    },
    outcome(id, kept, isFinal = kept !== 'all') {
      const known = open.get(id) ?? settled.get(id)
      if (known === undefined) return
      open.delete(id)
      settled.delete(id)
      if (isFinal) settled.set(id, known)
      else open.set(id, known)
      const [oldest] = settled.size > MAX_SETTLED ? settled.keys() : []
      if (oldest !== undefined) settled.delete(oldest)
      for (const reservation of known.reservations) {
        const change = keptOf(reservation, kept) - keptOf(reservation, known.kept)
        if (change !== 0n) windows.count(reservation, change)
      }
      known.kept = kept
    },
    counted: () => counted,
    result: () => ({
      totals,
      largest,
      rules: [...rules]
        .map(([rule, counting]) => ({ rule, ...counting }))
        .sort((a, b) => ((a.rule ?? '') < (b.rule ?? '') ? -1 : 1)),
    }),
  }
}

function keptOf({ amount, kept: fee }: Reservation, kept: Kept): bigint {
  return kept === 'nothing' ? 0n : kept === 'fee' ? fee : amount
}

function none(): Counting {
  return { requests: 0, usd: 0n, unpriced: 0 }
}

function addTo(counting: Counting, value: bigint | null): void {
  counting.requests += 1
  if (value === null) counting.unpriced += 1
  else counting.usd += value
}

function bySize(a: LargeCase, b: LargeCase): number {
  if (a.usd !== b.usd) return a.usd === null ? 1 : b.usd === null ? -1 : a.usd > b.usd ? -1 : 1
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
