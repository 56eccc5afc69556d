/** What a signer makes of a recorded request: the versions that it names, and what the rules of these versions say. Pure. */
import t from 'tap'
import type { Reservation } from '../../src/core/spend-limits.ts'
import { decide } from '../../src/policies/decide.ts'
import { decisionProblem, namedProblem } from '../../src/policies/recompute.ts'
import { ALICE, BOB, judgedOf, policyOf, USDC } from '../support/policies.ts'

const part = (version: number, shadow?: number) => ({
  ...{ version, tags: [], prices: [] },
  ...(shadow === undefined ? {} : { shadow }),
})

t.test('a request names the versions that were in force, and no others', async (t) => {
  t.equal(namedProblem(undefined, { active: 0, shadow: 0 }), null)
  t.equal(namedProblem(part(3), { active: 3, shadow: 0 }), null)
  t.equal(namedProblem(part(3, 4), { active: 3, shadow: 4 }), null)
  t.equal(namedProblem(part(0, 1), { active: 0, shadow: 1 }), null)
  t.match(namedProblem(undefined, { active: 3, shadow: 0 }), /names no policy, but the log had version 3/)
  t.match(namedProblem(part(2), { active: 3, shadow: 0 }), /names version 2 .* the log had version 3/)
  t.match(namedProblem(part(3), { active: 3, shadow: 4 }), /and version 4 as a shadow/)
  t.match(namedProblem(part(1), { active: 0, shadow: 0 }), /the log had no policy/)
})

const CAP = {
  id: 'cap',
  effect: 'limit',
  limit: { asset_id: USDC.assetId, amount: '5', window_seconds: 3_600 },
} as const
const capped = policyOf([CAP, { id: 'no-bob', effect: 'deny', match: { recipients: { in: [BOB] } } }])
const request = judgedOf('TransferRequested', { to: ALICE })
const needed = decide(capped, request).reservations
const ACTIVE = { isShadow: false }
const SHADOW = { isShadow: true }

t.test('what the policy forbids is forbidden, with the rule', async (t) => {
  t.equal(decisionProblem(capped, request, needed, ACTIVE), null)
  const toBob = judgedOf('TransferRequested', { to: BOB })
  t.match(decisionProblem(capped, toBob, needed, ACTIVE), /version 7 .* forbids it, by its rule no-bob \(denied\)/)
  const tooMuch = judgedOf('TransferRequested', { amount: 6_000_000n })
  t.match(decisionProblem(capped, tooMuch, decide(capped, tooMuch).reservations, ACTIVE), /rule cap \(over_limit\)/)
  const closed = policyOf([], { default: 'deny' })
  t.match(decisionProblem(closed, request, [], ACTIVE), /by its default \(not_allowed\)/)
  const asking = policyOf([{ id: 'ask', effect: 'require_approval', approval: { group: 'treasurers', quorum: 1 } }])
  t.match(decisionProblem(asking, request, [], ACTIVE), /rule ask \(needs_approval\)/)
  t.equal(decisionProblem(closed, request, [], SHADOW), null, 'a shadow forbids nothing')
})

t.test('what a request does not count as the policy says is a problem; more is not', async (t) => {
  const [one] = needed
  if (one === undefined) throw new Error('the limit counts nothing')
  const other: Reservation = { ...one, counter: 'key_1 USDC 3600', limit: 1n, amount: 1n, kept: 0n }
  t.equal(decisionProblem(capped, request, [other, { ...one, amount: one.amount + 1n }], ACTIVE), null)
  const lies: Readonly<Record<string, readonly Reservation[]>> = {
    'none at all': [],
    'only that of another counter': [other],
    'a smaller amount': [{ ...one, amount: one.amount - 1n }],
    'another bucket': [{ ...one, bucket: '2026-11-25T11:00:00.000Z' }],
    'a shorter window': [{ ...one, windowSeconds: 7_200 }],
    'a higher limit': [{ ...one, limit: one.limit + 1n }],
    'one that need not fit': [{ ...one, mustFit: false }],
  }
  for (const [what, reservations] of Object.entries(lies))
    t.match(
      decisionProblem(capped, request, reservations, ACTIVE),
      /does not count towards the limit of the rule cap/,
      what,
    )
  t.equal(decisionProblem(capped, request, [{ ...one, mustFit: false }], SHADOW), null)
  t.match(decisionProblem(capped, request, [], SHADOW), /does not count/, 'a shadow counts')
})
