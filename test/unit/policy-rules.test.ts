/** How a policy is read: its normalised form, what is refused with which words, and what is suspicious. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ValidationFailed } from '../../src/core/errors.ts'
import { readJsonBody } from '../../src/http/json-body.ts'
import { lintPolicy, requirePublishable } from '../../src/policies/lint.ts'
import type { SentRule } from '../../src/policies/sent-policy.ts'
import { ALICE, BOB, ETH, readSent, USDC } from '../support/policies.ts'

const deny: SentRule = { id: 'a', effect: 'deny' }
const limit: SentRule = { id: 'a', effect: 'limit', limit: { count: 3, window_seconds: 3_600 } }
const sent = (rule: object, more: object = {}) => ({ default: 'allow', rules: [rule], ...more })

/** `field code` of each problem, and that each message says what to do. */
function problems(t: Test, policy: unknown): readonly string[] {
  return problemsOf(t, () => readSent(policy))
}

function problemsOf(t: Test, act: () => unknown): readonly string[] {
  try {
    act()
    return []
  } catch (error) {
    if (!(error instanceof ValidationFailed)) throw error
    for (const { field = '', message } of error.items) {
      t.ok(message.startsWith(field), message)
      t.match(message, /(must|is|has|have|nests) .+[.?]$/, message)
    }
    return error.items.map(({ field, code }) => `${field} ${code}`)
  }
}

t.test('two texts that mean the same have one normalised form', (t) => {
  const one = readSent({
    default: 'allow',
    lists: { b: [BOB.toLowerCase(), ALICE, BOB], a: [] },
    rules: [
      { ...deny, id: 'z', match: { methods: { in: ['transfer( address to , uint256 value )', '0xA9059CBB'] } } },
      {
        id: 'b',
        effect: 'limit',
        match: {
          actions: ['transfer', 'approve', 'transfer'],
          amount: { asset_id: USDC.assetId, gte: '1.5' },
          time: { zone: 'UTC', days: ['fri', 'mon'], from: '09:30', to: '24:00' },
          recipients: { not_in: ['b', ALICE.toLowerCase(), 'own_wallets'] },
        },
        limit: { amount: '0.25', asset_id: ETH.assetId, window_seconds: 86_400 },
      },
    ],
  })
  t.strictSame(one, {
    default: 'allow',
    maxPriceAgeSeconds: 90_000,
    lists: { a: [], b: [BOB, ALICE].sort() },
    rules: [
      {
        id: 'b',
        description: null,
        match: {
          actions: ['approve', 'transfer'],
          recipients: { notIn: [ALICE, 'b', 'own_wallets'] },
          amount: { asset: { assetId: USDC.assetId, symbol: 'USDC', decimals: 6 }, gte: '1500000' },
          time: { zone: 'UTC', days: ['mon', 'fri'], from: 570, to: 1_440 },
        },
        onUnknownPrice: 'deny',
        effect: 'limit',
        limit: {
          of: 'asset',
          assetId: ETH.assetId,
          symbol: 'ETH',
          decimals: 18,
          amount: '250000000000000000',
          windowSeconds: 86_400,
          per: 'tenant',
        },
      },
      {
        id: 'z',
        description: null,
        match: { methods: { in: ['0xa9059cbb'] } },
        onUnknownPrice: 'deny',
        effect: 'deny',
      },
    ],
  })
  t.end()
})

t.test('what is wrong is named with its field, the rule and what to do', (t) => {
  const match = (part: object) => sent({ ...deny, match: part })
  const of = (part: object) => sent({ ...limit, limit: { window_seconds: 3_600, ...part } })
  const cases: readonly (readonly [unknown, ...string[]])[] = [
    [{}, 'default required', 'rules required'],
    [sent(deny, { rule: [] }), 'rule unknown_field'],
    [sent({ ...deny, matches: {} }), 'rules[0].matches unknown_field'],
    [match({ recipient: {} }), 'rules[0].match.recipient unknown_field'],
    [match({ actions: ['pay'] }), 'rules[0].match.actions[0] not_allowed'],
    [sent({ ...deny, id: 'A b' }), 'rules[0].id invalid_format'],
    [sent({ ...deny, effect: 'maybe' }), 'rules[0].effect not_allowed'],
    [{ default: 'allow', rules: [deny, deny] }, 'rules[1].id duplicate'],
    [match({ recipients: {} }), 'rules[0].match.recipients invalid'],
    [match({ recipients: { in: [], not_in: [] } }), 'rules[0].match.recipients invalid'],
    [match({ recipients: { in: ['payrol'] } }), 'rules[0].match.recipients.in[0] not_allowed'],
    [match({ contracts: { in: ['own_wallets'] } }), 'rules[0].match.contracts.in[0] not_allowed'],
    [match({ spenders: { in: [`${ALICE}0`] } }), 'rules[0].match.spenders.in[0] invalid_address'],
    [match({ spenders: { in: [ALICE.replace('C', 'c')] } }), 'rules[0].match.spenders.in[0] bad_checksum'],
    [match({ methods: { in: ['transfer'] } }), 'rules[0].match.methods.in[0] invalid_abi'],
    [match({ methods: { in: [`f${'('.repeat(400)}`] } }), 'rules[0].match.methods.in[0] invalid_abi'],
    [match({ assets: { in: ['ETH'] } }), 'rules[0].match.assets.in[0] invalid_asset_id'],
    [match({ amount: { asset_id: 'eip155:1/slip44:1', gte: '1' } }), 'rules[0].match.amount.asset_id unknown_asset'],
    [match({ amount: { asset_id: USDC.assetId } }), 'rules[0].match.amount required'],
    [match({ amount: { asset_id: USDC.assetId, gte: '0.0000001' } }), 'rules[0].match.amount.gte too_many_decimals'],
    [match({ amount_usd: { lt: '1e3' } }), 'rules[0].match.amount_usd.lt invalid_amount'],
    [match({ time: { zone: 'Mars' } }), 'rules[0].match.time.zone invalid_format'],
    [match({ time: { zone: 'UTC', from: '24:00' } }), 'rules[0].match.time.from invalid_time'],
    [match({ time: { zone: 'UTC', from: '9:00' } }), 'rules[0].match.time.from invalid_time'],
    [match({ time: { zone: 'UTC', from: '09:00', to: '09:00' } }), 'rules[0].match.time.to empty_range'],
    [match({ time: { zone: 'UTC', month_days: [32] } }), 'rules[0].match.time.month_days[0] too_large'],
    [sent({ ...deny, limit: limit.limit }), 'rules[0].limit not_allowed'],
    [sent({ id: 'a', effect: 'limit' }), 'rules[0].limit required'],
    [of({}), 'rules[0].limit invalid'],
    [of({ count: 1, amount_usd: '1' }), 'rules[0].limit invalid'],
    [of({ amount: '1' }), 'rules[0].limit invalid'],
    [of({ amount: '1', asset_id: 'eip155:1/slip44:1' }), 'rules[0].limit.asset_id unknown_asset'],
    [of({ count: 1, window_seconds: 0 }), 'rules[0].limit.window_seconds too_small'],
    [of({ count: 1, window_seconds: 34_560_000 }), 'rules[0].limit.window_seconds too_large'],
    [of({ count: 1, window_seconds: 3_601 }), 'rules[0].limit.window_seconds invalid'],
    [sent({ ...deny, on_unknown_price: 'deny' }), 'rules[0].on_unknown_price not_allowed'],
    [sent({ ...deny, approval: { group: 'a', quorum: 1 } }), 'rules[0].approval not_allowed'],
    [sent({ ...deny, effect: 'require_approval' }), 'rules[0].approval required'],
    [sent(deny, { lists: { own_wallets: [] } }), 'lists.own_wallets not_allowed'],
    [sent(deny, { lists: { a: ['0x12'] } }), 'lists.a[0] invalid_address'],
  ]
  for (const [policy, ...expected] of cases) t.strictSame(problems(t, policy), expected, expected.join())
  t.end()
})

t.test('what is too large is refused', (t) => {
  const rules = (count: number) => Array.from({ length: count }, (_, n) => ({ ...deny, id: `r${n}` }))
  const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
  const addresses = (count: number) => Array.from({ length: count }, (_, n) => address(n))
  t.strictSame(problems(t, { default: 'allow', rules: rules(100) }), [])
  t.strictSame(problems(t, { default: 'allow', rules: rules(101) }), ['rules too_many'])
  t.equal(readSent(sent(deny, { lists: { a: addresses(10_000) } })).lists.a?.length, 10_000)
  t.strictSame(problems(t, sent(deny, { lists: { a: addresses(5_000), b: addresses(5_001) } })), ['lists too_many'])
  const named = (count: number) =>
    sent(deny, {
      lists: { a: addresses(9_900) },
      rules: rules(count).map((rule) => ({ ...rule, match: { recipients: { in: ['a'] } } })),
    })
  t.strictSame(problems(t, named(10)), [])
  t.strictSame(problems(t, named(11)), ['rules too_many'], 'a list counts wherever it is named')
  const wide = rules(100).map((rule) => ({ ...rule, match: { recipients: { in: addresses(20) } } }))
  t.strictSame(problems(t, { default: 'allow', rules: wide }), ['rules too_large'])
  const many = sent({ ...deny, match: { recipients: { in: addresses(501) } } })
  t.strictSame(problems(t, many), ['rules[0].match.recipients.in too_many'])
  const lists = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`l${n}`, []]))
  t.strictSame(problems(t, sent(deny, { lists })), ['lists too_many'])
  t.end()
})

t.test('whatever JSON is sent, it is read or refused with words', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.jsonValue(), (rule, match) => {
      for (const policy of [rule, sent({ ...deny, match }), { default: 'allow', rules: [rule] }]) {
        try {
          readSent(policy)
        } catch (error) {
          if (!(error instanceof ValidationFailed)) throw error
        }
      }
    }),
    { numRuns: 300 },
  )
  const deep = `{"default": "allow", "rules": [{"id": "a", "effect": "deny", "match": ${'{"match": '.repeat(1_000)}{}${'}'.repeat(1_002)}`
  const body = `${deep.slice(0, -1)}]}`
  const [item] = problemsOf(t, () => readSent(readJsonBody(Buffer.from(body))))
  t.match(item, /^rules\[0\]\.match.* too_deep$/, 'depth is refused before anything reads it')
})

t.test('rules that never match or decide nothing are reported', (t) => {
  const codes = (rules: readonly object[], more: object = {}) =>
    lintPolicy(readSent({ default: 'allow', rules, ...more })).map(({ code, rule }) => `${rule} ${code}`)
  const never = (match: object, effect = 'deny') => codes([{ ...deny, effect, match }], { default: 'deny' })[0]
  for (const match of [
    { actions: ['transfer'], buys: { in: [ETH.assetId] } },
    { actions: ['sign_message'], typed_data: {} },
    { actions: ['transfer'], slippage_bps: { gte: 1 } },
    { actions: ['api_key_change'], networks: ['ethereum'] },
    { recipients: { in: [] } },
    { amount_usd: { gte: '2', lt: '2' } },
    { slippage_bps: { gte: 2, lt: 2 } },
    { amount: { asset_id: ETH.assetId, gte: '1' }, assets: { in: [USDC.assetId] } },
  ])
    t.equal(never(match), 'a never_matches', JSON.stringify(match))
  t.equal(never({ actions: ['batch'] }, 'allow'), 'a never_matches')
  t.strictSame(codes([{ ...deny, match: { recipients: { in: ['l'] } } }], { lists: { l: [] } }), ['a never_matches'])
  t.strictSame(codes([{ ...deny, effect: 'allow' }]), ['a never_decides'], 'the default allows')
  t.strictSame(codes([deny], { default: 'deny' }), ['null allows_nothing'])
  t.strictSame(codes([deny], { lists: { l: [ALICE] } }), ['null unused_list'])
  const wide = { id: 'w', effect: 'deny', match: { actions: ['transfer', 'approve'], recipients: { not_in: [ALICE] } } }
  const narrow = (match: object) => codes([wide, { ...limit, match }])
  t.strictSame(narrow({ actions: ['approve'], recipients: { not_in: [ALICE, BOB] } }), ['a never_decides'])
  t.strictSame(narrow({ actions: ['approve', 'swap'], recipients: { not_in: [ALICE, BOB] } }), [])
  t.strictSame(narrow({ actions: ['approve'], recipients: { not_in: [BOB] } }), [])
  t.strictSame(codes([deny, { ...deny, id: 'b' }]), ['b never_decides'], 'of two that are alike, one')
  t.end()
})

t.test('a policy that asks people is a draft', (t) => {
  const approval = { group: 'treasurers', quorum: 1 }
  const asking = readSent({
    default: 'allow',
    rules: [
      { id: 'a', effect: 'require_approval', approval },
      { id: 'b', effect: 'deny', match: { amount_usd: { gte: '1' } }, on_unknown_price: 'require_approval', approval },
    ],
  })
  t.strictSame(
    problemsOf(t, () => requirePublishable(asking)),
    ['rules[0].effect approval_unavailable', 'rules[1].on_unknown_price approval_unavailable'],
  )
  t.doesNotThrow(() => requirePublishable(readSent(sent(deny))))
  t.end()
})
