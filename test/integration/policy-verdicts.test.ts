/** One verdict: what the accept lets through, what a simulation says before, and what a test on the past says of the same requests. */

import fc from 'fast-check'
import t from 'tap'
import { JUDGED_KINDS } from '../../src/compose/capabilities.ts'
import { LimitReached } from '../../src/event-log/append.ts'
import { createBacktest, type Verdict } from '../../src/policies/backtest.ts'
import { compilePolicy } from '../../src/policies/compile.ts'
import { decide } from '../../src/policies/decide.ts'
import type { Facts } from '../../src/policies/facts.ts'
import { createJudge } from '../../src/policies/judge.ts'
import { createPoliciesInForce } from '../../src/policies/policies-in-force.ts'
import { readPast } from '../../src/policies/read-past.ts'
import { runBacktest } from '../../src/policies/run-backtest.ts'
import { simulate } from '../../src/policies/simulate.ts'
import { judgedTransaction } from '../../src/policies/transaction-intents.ts'
import type { Intent } from '../../src/transactions/intent.ts'
import { readSpent } from '../../src/transactions/read-spent.ts'
import { NATIVE, transferIntent } from '../support/log.ts'
import { ALICE, BOB, CAROL, factsOf } from '../support/policies.ts'
import { ACTOR, METADATA, OWNER, policyOf, withPast } from '../support/policy-past.ts'

const HOUR_MS = 3_600_000
const rules = policyOf(
  [
    { id: 'alice-not', effect: 'deny', match: { recipients: { in: ['blocked'] } } },
    { id: 'few', effect: 'limit', limit: { count: 4, window_seconds: 3_600, per: 'recipient' } },
    {
      id: 'sum',
      effect: 'limit',
      limit: { asset_id: NATIVE.assetId, amount: '0.000000000000500000', window_seconds: 7_200 },
    },
    { id: 'large', effect: 'deny', match: { amount: { asset_id: NATIVE.assetId, gte: '0.0000000000001' } } },
  ],
  { lists: { blocked: [ALICE] } },
)
const policy = compilePolicy(rules, 1)
const NOTHING_KNOWN = {
  kinds: JUDGED_KINDS,
  tagsOf: async () => [],
  assetsOf: async () => ({ tokenOf: () => null, priceOf: () => null }),
  ownAmong: async () => new Set<string>(),
  collectionsAmong: async () => new Set<string>(),
  isOwnSpender: () => false,
}

const judgedTransfer = (data: Intent, facts: Facts) =>
  judgedTransaction(JUDGED_KINDS, { type: 'TransferRequested', data }, facts)

t.test('accept, simulation and back-test say the same of random requests', async (t) => {
  const seed = Date.now()
  t.comment(`seed ${seed}`)
  const [judged, recorded] = [await withPast(t), await withPast(t)]
  const version = await judged.shadow(rules)
  await judged.seed(new AbortController().signal)
  await judged.publish(version, rules)
  const inForce = await judged.inForce()
  const ctx = {
    policies: {
      judgeBy: (shadow: typeof policy) =>
        createJudge({ ...NOTHING_KNOWN, inForce: async () => ({ active: null, shadow, isSeeded: true }) }),
      inForce: createPoliciesInForce(judged.pool),
    },
    readSpent: (reservations: Parameters<typeof readSpent>[1], now: string) =>
      readSpent(judged.pool, reservations, now),
  }
  const simulated = async (intent: Intent): Promise<Verdict> => {
    const metadata = { ...METADATA }
    const parts = await simulate(
      ctx,
      policy,
      ({ judge, accept }) =>
        accept(metadata, async (append) => {
          await judge.transaction('TransferRequested', intent, { actor: ACTOR, accepting: metadata })
          return append({ id: '', commit: { decisions: [] }, made: null })
        }),
      metadata,
      OWNER.environment,
    )
    return parts[0]?.outcome ?? 'allowed'
  }
  const accepted = async (intent: Intent): Promise<Verdict> => {
    const facts = factsOf({ tags: [], actor: ACTOR }, intent.requestedAt)
    const { refusal } = decide(policy, judgedTransfer(intent, facts))
    if (refusal !== null) return refusal.reason === 'over_limit' ? 'limited' : 'denied'
    return judged.transfer(intent, inForce).then(
      () => 'allowed',
      (error: unknown) => {
        if (error instanceof LimitReached) return 'limited'
        throw error
      },
    )
  }
  const request = fc.tuple(
    fc.constantFrom(ALICE, BOB, CAROL),
    fc.integer({ min: 1, max: 110_000 }),
    fc.integer({ min: 0, max: 4 * HOUR_MS }),
  )
  const requests = fc.sample(request, { numRuns: 120, seed })
  const verdicts: Verdict[] = []
  const ids: string[] = []
  for (const [to, amount, agoMs] of requests) {
    const intent = transferIntent({
      to,
      amount: BigInt(amount),
      requestedAt: new Date(Date.now() - agoMs).toISOString(),
    })
    const before = await simulated(intent)
    const verdict = await accepted(intent)
    t.equal(before, verdict, `${intent.amount} to ${to} at ${intent.requestedAt}`)
    verdicts.push(verdict)
    ids.push(await recorded.transfer(intent))
  }
  t.strictSame(new Set(verdicts), new Set(['allowed', 'denied', 'limited']))
  const backtest = createBacktest(policy)
  const tested: Verdict[] = []
  for await (const { steps } of readPast(recorded.ports, OWNER, { fromMs: 0, toMs: null, isGapless: true }))
    for (const step of steps) if (step.is === 'request') tested.push(backtest.request(step.id, step.judged))
  t.strictSame(tested, verdicts, 'the log of all requests, tested on the past')
  const whole = { fromMs: null, toMs: null }
  const { result } = await runBacktest(judged.ports, OWNER, policy, whole, () => true)
  const { allowed, denied, limited } = result.totals
  t.strictSame(
    [allowed.requests, denied.requests, limited.requests],
    [verdicts.filter((verdict) => verdict === 'allowed').length, 0, 0],
    'the log of those that were accepted',
  )
})
