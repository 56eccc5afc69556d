/** What a policy says about single requests: effects, prices, limits and what a caller is told. */
import t from 'tap'
import { encodeApprove } from '../../src/chain/erc20.ts'
import { policyLimitOf } from '../../src/core/policy-limit.ts'
import { decide } from '../../src/policies/decide.ts'
import { explainRules } from '../../src/policies/explain.ts'
import { refusedByPolicy } from '../../src/policies/refusal.ts'
import type { SentMatch, SentRule } from '../../src/policies/sent-policy.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { ALICE, BOB, ETH, judgedCall, judgedOf, KEY, MALLORY, NOON, policyOf, USDC, WBTC } from '../support/policies.ts'

const deny = (match: SentMatch, id = 'no'): SentRule => ({ id, effect: 'deny', match })
const asking = (id: string, group: string, quorum: number, seconds: number): SentRule => ({
  ...{ id, effect: 'require_approval' },
  approval: { group, quorum, expires_in_seconds: seconds },
})
const limit = (part: Partial<SentRule['limit'] & object>, more: Partial<SentRule> = {}): SentRule => ({
  ...{ id: 'cap', effect: 'limit', ...more },
  limit: { window_seconds: 86_400, ...part },
})
const transfer = judgedOf('TransferRequested')
const FEE = 65_000n * 10n ** 9n
const old = { priceOf: () => ({ usd: '1', at: '2026-11-24T10:59:59.999Z' }) }

t.test('any denial wins, approvals add up, and the default decides what no rule is about', (t) => {
  const both = policyOf([{ id: 'yes', effect: 'allow' }, deny({}), asking('a', 'x', 1, 60)])
  t.match(decide(both, transfer), { outcome: 'denied', refusal: { reason: 'denied', rule: 'no', version: 7 } })
  const asked = policyOf([asking('a', 'x', 1, 900), asking('b', 'x', 3, 600), asking('c', 'w', 2, 60)])
  t.strictSame(decide(asked, transfer).approvals, [
    { group: 'w', quorum: 2, expiresInSeconds: 60, rules: ['c'] },
    { group: 'x', quorum: 3, expiresInSeconds: 600, rules: ['a', 'b'] },
  ])
  t.equal(decide(asked, transfer).outcome, 'needs_approval')
  t.match(decide(policyOf([], { default: 'deny' }), transfer).refusal, { reason: 'not_allowed', rule: null })
  t.equal(decide(policyOf([]), transfer).outcome, 'allowed')
  const two = policyOf([deny({}, 'z'), deny({}, 'a')])
  matchExactly(t, decide(two, transfer), { refusal: { rule: 'a' }, refusedBy: ['a', 'z'] })
  t.end()
})

t.test('a rule that restricts names one action of a request, a rule that allows all of them', (t) => {
  const call = judgedCall(USDC.contract ?? '', encodeApprove(BOB, 5n))
  for (const action of ['contract_call', 'approve'] as const) {
    t.equal(decide(policyOf([deny({ actions: [action] })]), call).outcome, 'denied', action)
    const allow = policyOf([{ id: 'a', effect: 'allow', match: { actions: [action] } }], { default: 'deny' })
    t.equal(decide(allow, call).outcome, 'denied', action)
  }
  const all = policyOf([{ id: 'a', effect: 'allow', match: { actions: ['contract_call', 'approve'] } }], {
    default: 'deny',
  })
  t.equal(decide(all, call).outcome, 'allowed')
  t.end()
})

t.test('an amount is that of the whole request', (t) => {
  const outflows = [{ asset: USDC, amount: 600_000n }]
  const call = judgedCall(MALLORY, '0x12345678', { outflows: [...outflows, ...outflows] })
  const from = (gte: string) => policyOf([deny({ amount: { asset_id: USDC.assetId, gte } })])
  t.equal(decide(from('1.2'), call).outcome, 'denied')
  t.equal(decide(from('1.200001'), call).outcome, 'allowed')
  t.equal(decide(from('1'), transfer).outcome, 'denied')
  t.equal(decide(policyOf([deny({ amount: { asset_id: USDC.assetId, lt: '1' } })]), transfer).outcome, 'allowed')
  t.end()
})

t.test('a price that is not known or too old denies, or asks', (t) => {
  const approval = { group: 'x', quorum: 1 }
  const dollars: SentMatch = { amount_usd: { gte: '10' } }
  const cases: readonly (readonly [SentRule, string])[] = [
    [deny(dollars), 'denied'],
    [{ ...deny(dollars), on_unknown_price: 'require_approval', approval }, 'needs_approval'],
    [limit({ amount_usd: '1000' }), 'denied'],
    [limit({ amount_usd: '1000' }, { on_unknown_price: 'require_approval', approval }), 'needs_approval'],
    [deny({ amount: { asset_id: ETH.assetId, gte: '1' } }), 'allowed'],
  ]
  for (const [rule, expected] of cases) {
    const text = JSON.stringify(rule)
    t.equal(decide(policyOf([rule]), judgedOf('TransferRequested', { asset: WBTC })).outcome, expected, text)
    t.equal(decide(policyOf([rule]), judgedOf('TransferRequested', {}, old)).outcome, expected, text)
    t.equal(decide(policyOf([rule]), transfer).outcome, 'allowed', text)
  }
  const allow = policyOf([{ id: 'a', effect: 'allow', match: { amount_usd: { lt: '10' } } }], { default: 'deny' })
  t.equal(decide(allow, transfer).outcome, 'allowed')
  t.equal(decide(allow, judgedOf('TransferRequested', {}, old)).outcome, 'denied')
  const patient = policyOf([deny(dollars)], { price_max_age_seconds: 100_000 })
  t.equal(decide(patient, judgedOf('TransferRequested', {}, old)).outcome, 'allowed')
  t.end()
})

t.test('a limit reserves what moves and the fee, on a counter of what it counts', (t) => {
  const reserved = (part: Parameters<typeof limit>[0], request = transfer) =>
    decide(policyOf([limit(part)]), request).reservations.map(({ counter, amount, kept }) => {
      const [policy, tenant, environment, name, ...whose] = counter.split(' ')
      t.match(
        { policy, tenant, environment, name },
        { ...{ policy: 'policy', tenant: 'acme', environment: 'mainnet' }, name: /^[0-9a-f]{32}$/ },
      )
      return [whose.join(' '), amount, kept]
    })
  t.strictSame(reserved({ amount_usd: '900' }), [['', 1_130_033n, 130_033n]])
  t.strictSame(reserved({ amount: '900', asset_id: ETH.assetId }), [['', FEE, FEE]])
  t.strictSame(reserved({ amount: '900', asset_id: USDC.assetId, per: 'wallet' }), [['wal_1', 1_000_000n, 0n]])
  t.strictSame(reserved({ count: 5, per: 'api_key' }), [[KEY, 1n, 1n]])
  t.strictSame(reserved({ count: 5, per: 'recipient' }), [[ALICE.toLowerCase(), 1n, 1n]])
  const system = judgedOf('TransferRequested', {}, { actor: 'operator' })
  t.strictSame(reserved({ count: 5, per: 'api_key' }, system), [], 'the installation has no API key')
  matchExactly(t, decide(policyOf([limit({ amount_usd: '900' })]), transfer).reservations, [
    { rule: 'cap', unit: 'USD', decimals: 6, windowSeconds: 86_400, limit: 900_000_000n, bucket: NOON },
  ])
  t.end()
})

t.test(
  'a counter goes on as long as the same is counted, whatever the rule, the amount and the lists are called',
  (t) => {
    const counterOf = (
      part: Parameters<typeof limit>[0],
      more: Partial<SentRule> = {},
      lists: Readonly<Record<string, readonly string[]>> = {},
    ) => decide(policyOf([limit(part, more)], { lists }), transfer).reservations[0]?.counter
    const friends: SentMatch = { recipients: { in: ['friends'] } }
    const first = counterOf({ amount_usd: '900' }, { match: friends }, { friends: [ALICE, BOB] })
    t.type(first, 'string')
    const same: readonly Parameters<typeof counterOf>[] = [
      [{ amount_usd: '5' }, { id: 'other', match: friends }, { friends: [BOB, ALICE] }],
      [{ amount_usd: '900' }, { match: { recipients: { in: ['pals'] } } }, { pals: [ALICE, BOB] }],
      [{ amount_usd: '900' }, { match: { recipients: { in: [BOB.toLowerCase(), ALICE] } } }],
    ]
    for (const one of same) t.equal(counterOf(...one), first)
    const others: readonly Parameters<typeof counterOf>[] = [
      [{ amount_usd: '900' }, { match: friends }, { friends: [ALICE] }],
      [{ amount_usd: '900' }, { match: { ...friends, actions: ['transfer'] } }, { friends: [ALICE, BOB] }],
      [{ amount_usd: '900', window_seconds: 3_600 }, { match: friends }, { friends: [ALICE, BOB] }],
      [{ amount_usd: '900', per: 'wallet' }, { match: friends }, { friends: [ALICE, BOB] }],
      [{ amount: '900', asset_id: USDC.assetId }, { match: friends }, { friends: [ALICE, BOB] }],
    ]
    const names = [first, ...others.map((one) => counterOf(...one))]
    t.equal(new Set(names).size, names.length, 'each counts something else')
    t.end()
  },
)

t.test('two rules that limit the same count once, and the lower limit holds', (t) => {
  const two = policyOf([
    limit({ count: 9 }, { id: 'a' }),
    limit({ count: 3 }, { id: 'b' }),
    limit({ count: 5 }, { id: 'c' }),
  ])
  matchExactly(t, decide(two, transfer).reservations, [{ rule: 'b', limit: 3n, amount: 1n }])
  t.equal(decide(two, transfer).reservations.length, 1)
  t.end()
})

t.test('what has no bound is not counted, and refused', (t) => {
  const unlimited = judgedCall(USDC.contract ?? '', encodeApprove(BOB, (1n << 256n) - 1n))
  t.match(decide(policyOf([limit({ amount_usd: '900' })]), unlimited).refusal, { reason: 'uncounted', rule: 'cap' })
  t.equal(decide(policyOf([limit({ amount: '900', asset_id: ETH.assetId })]), unlimited).outcome, 'allowed')
  const unclear = judgedCall(MALLORY, '0x1234')
  const anything = decide(policyOf([limit({ amount: '900', asset_id: ETH.assetId })]), unclear)
  t.match(anything.refusal, { reason: 'uncounted' }, 'it may be any asset')
  t.equal(decide(policyOf([limit({ count: 5 })]), unclear).outcome, 'allowed')
  t.end()
})

t.test('a refusal names the rule, its version and what is left', (t) => {
  const refused = (rules: readonly SentRule[], request = transfer) => {
    const { refusal } = decide(policyOf(rules), request)
    if (refusal === null) throw new Error('the request must be refused')
    return refusedByPolicy(refusal, request)
  }
  const { code, type, details } = refused([deny({})])
  t.strictSame(
    { code, type, details },
    {
      ...{ code: 'policy_denied', type: 'policy_error' },
      details: { rule: 'no', version: 7, reason: 'denied' },
    },
  )
  t.match(refused([deny({})]).message, 'The rule no of the policy denies this request.')
  const over = refused([limit({ amount: '0.5', asset_id: USDC.assetId })])
  t.match(over, {
    code: 'policy_limit',
    message: /^The rule cap of the policy has 0\.5 USDC left, and this needs 1 USDC\. It is more/,
  })
  const { reservations } = decide(policyOf([limit({ amount: '5', asset_id: USDC.assetId })]), transfer)
  const room = { counter: reservations[0]?.counter ?? '', left: 300_000n, needed: 1_000_000n, roomAt: new Date(NOON) }
  const opened = {
    environment: 'mainnet',
    walletId: 'wal_1',
    policy: { version: 7, tags: [], prices: [] },
    reservations,
  } as const
  t.strictSame(policyLimitOf(room, [opened])?.details, {
    ...{ rule: 'cap', version: 7, limit: '5', left: '0.3', needed: '1', unit: 'USDC' },
    ...{ window_seconds: 86_400, available_at: NOON },
  })
  t.equal(policyLimitOf({ ...room, counter: 'key_1 usd 86400' }, [opened]), null, 'a limit of others')
  t.end()
})

t.test('an explanation has each condition with its outcome', (t) => {
  const policy = policyOf([deny({ recipients: { in: [BOB] }, methods: { in: ['transfer(address,uint256)'] } })])
  const call = judgedCall(MALLORY, '0x12345678')
  t.strictSame(explainRules(policy, call), [
    {
      ...{ rule: 'no', effect: 'deny' },
      intents: [
        {
          conditions: [
            { field: 'methods', held: 'no' },
            { field: 'recipients', held: 'maybe' },
          ],
          held: 'no',
        },
      ],
    },
  ])
  t.end()
})
