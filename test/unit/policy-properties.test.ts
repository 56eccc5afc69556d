/** What holds of any policy and any requests. */
import fc from 'fast-check'
import t from 'tap'
import { createBacktest, type Kept } from '../../src/policies/backtest.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import type { RuleReservation } from '../../src/policies/count-limit.ts'
import { decide, type PolicyDecision } from '../../src/policies/decide.ts'
import { explainRules } from '../../src/policies/explain.ts'
import type { Judged } from '../../src/policies/intent.ts'
import { lintPolicy } from '../../src/policies/lint.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { readSent } from '../support/policies.ts'
import { LISTS, requestOf, rulesOf, wideLimitsOf } from '../support/policy-cases.ts'

const DAY_MS = 86_400_000
const defaults = fc.constantFrom('allow' as const, 'deny' as const)
const compiled = (rules: readonly SentRule[], by: 'allow' | 'deny') =>
  compilePolicy(readSent({ default: by, lists: LISTS, rules }), 1)

/** Without the indexes of intents. */
function plain({ matched, ...decision }: PolicyDecision) {
  return { ...decision, matched: matched.map(({ rule, effect, intents }) => [rule, effect, intents.length]) }
}

t.test('the order of rules and of intents never matters', async () => {
  fc.assert(
    fc.property(
      rulesOf(8).chain((rules) =>
        fc.tuple(fc.constant(rules), fc.shuffledSubarray([...rules], { minLength: rules.length })),
      ),
      requestOf(DAY_MS).chain((request) => {
        const { length } = request.intents
        const shuffled = fc.shuffledSubarray([...request.intents], { minLength: length })
        return fc.tuple(fc.constant(request), shuffled)
      }),
      defaults,
      ([rules, shuffled], [request, intents], by) => {
        const one = plain(decide(compiled(rules, by), request))
        const other = plain(decide(compiled(shuffled, by), { ...request, intents }))
        return JSON.stringify(one, digits) === JSON.stringify(other, digits)
      },
    ),
    { numRuns: 1_500 },
  )
})

function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

t.test('another rule that restricts never allows more, and one that allows never less', async () => {
  const rank = { allowed: 0, needs_approval: 1, denied: 2 }
  fc.assert(
    fc.property(rulesOf(6), requestOf(DAY_MS), defaults, (rules, request, by) => {
      const [extra, ...others] = rules
      if (extra === undefined) return true
      const [without, with_] = [others, rules].map((some) => rank[decide(compiled(some, by), request).outcome])
      return extra.effect === 'allow' ? (with_ ?? 0) <= (without ?? 0) : (with_ ?? 0) >= (without ?? 0)
    }),
    { numRuns: 1_500 },
  )
})

t.test('an explanation says the same as the decision', async () => {
  fc.assert(
    fc.property(rulesOf(6), requestOf(DAY_MS), (rules, request) => {
      const policy = compiled(rules, 'allow')
      const matched = new Map(decide(policy, request).matched.map(({ rule, intents }) => [rule, intents]))
      return explainRules(policy, request).every(({ rule, effect, intents }) => {
        const about = intents.flatMap(({ held }, n) =>
          held === 'yes' || (held === 'maybe' && effect !== 'allow') ? [n] : [],
        )
        return JSON.stringify(about) === JSON.stringify(matched.get(rule) ?? [])
      })
    }),
    { numRuns: 1_000 },
  )
})

t.test('a rule that is said to decide nothing decides nothing', async (t) => {
  let said = 0
  fc.assert(
    fc.property(
      rulesOf(6),
      fc.array(requestOf(DAY_MS), { minLength: 5, maxLength: 10 }),
      defaults,
      (rules, requests, by) => {
        const policy = readSent({ default: by, lists: LISTS, rules })
        const idle = lintPolicy(policy).filter(({ code }) => code === 'never_matches' || code === 'never_decides')
        said += idle.length
        return idle.every(({ rule }) => {
          const rest = { ...policy, rules: policy.rules.filter(({ id }) => id !== rule) }
          const [before, after] = [compilePolicy(policy, 1), compilePolicy(rest, 1)]
          return requests.every((request) => decide(before, request).outcome === decide(after, request).outcome)
        })
      },
    ),
    { numRuns: 800 },
  )
  t.ok(said > 50, `${said} were said`)
})

/** The append, without its buckets of before: it adds up all that was ever reserved. */
function createLedger() {
  const counted: { reservation: RuleReservation; at: number; id: string; amount: bigint }[] = []
  let isTakenAgain = false
  return {
    counted,
    /** What was given back is taken again by a later outcome, whether or not there is room: its request is made already. */
    isTakenAgain: () => isTakenAgain,
    fits: ({ counter, bucket, windowSeconds, limit, amount }: RuleReservation) => {
      const since = Date.parse(bucket) - windowSeconds * 1_000
      const spent = counted
        .filter(({ reservation }) => reservation.counter === counter && Date.parse(reservation.bucket) >= since)
        .reduce((sum, one) => sum + one.amount, 0n)
      return spent + amount <= limit
    },
    count(id: string, request: Judged, reservations: readonly RuleReservation[]) {
      for (const reservation of reservations)
        counted.push({ reservation, at: Date.parse(request.at), id, amount: reservation.amount })
    },
    keep(id: string, kept: Kept) {
      for (const one of counted) {
        if (one.id !== id) continue
        const { amount, kept: fee } = one.reservation
        const left = kept === 'nothing' ? 0n : kept === 'fee' ? fee : amount
        isTakenAgain ||= left > one.amount
        one.amount = left
      }
    },
  }
}

const OUTCOMES: readonly (Kept | null)[] = [null, 'all', 'fee', 'nothing']
const history = fc.array(fc.tuple(requestOf(3 * DAY_MS), fc.constantFrom(...OUTCOMES)), { minLength: 5, maxLength: 40 })

t.test('the back-test says what the append says, and no interval ever has more than the limit', async (t) => {
  let [limited, withinLimits] = [0, 0]
  fc.assert(
    fc.property(fc.oneof(rulesOf(5), wideLimitsOf(3)), history, defaults, (rules, requests, by) => {
      const policy = compiled(rules, by)
      const backtest = createBacktest(policy)
      const ledger = createLedger()
      const isSame = requests.every(([request, kept], n) => {
        const { outcome, reservations, refusal } = decide(policy, request)
        const fits = reservations.every(ledger.fits)
        const expected =
          refusal !== null ? (refusal.reason === 'over_limit' ? 'limited' : 'denied') : fits ? outcome : 'limited'
        if (expected === 'allowed' || expected === 'needs_approval') ledger.count(`${n}`, request, reservations)
        if (expected === 'limited') limited += 1
        const verdict = backtest.request(`${n}`, request)
        // The outcome of an earlier request comes in between. What has no fee is no transaction, and gives nothing back.
        if (kept !== null && kept !== 'all') {
          if (requests[n >> 1]?.[0].fee !== null) ledger.keep(`${n >> 1}`, kept)
          backtest.outcome(`${n >> 1}`, kept)
        }
        return verdict === expected
      })
      if (ledger.isTakenAgain()) return isSame
      withinLimits += 1
      return isSame && ledger.counted.every(({ reservation, at }) => isWithin(ledger.counted, reservation, at))
    }),
    { numRuns: 400 },
  )
  t.ok(limited > 50, `${limited} requests did not fit`)
  t.ok(withinLimits > 100, `${withinLimits} histories were compared with their limits`)
})

/** Whether all that counts in the window that begins at a time is at most the limit. */
function isWithin(
  counted: ReturnType<typeof createLedger>['counted'],
  { counter, windowSeconds, limit }: RuleReservation,
  from: number,
): boolean {
  const to = from + windowSeconds * 1_000
  const sum = counted
    .filter(({ reservation, at }) => reservation.counter === counter && at >= from && at <= to)
    .reduce((all, { amount }) => all + amount, 0n)
  return sum <= limit
}
