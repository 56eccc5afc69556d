/** What no policy may be: refused before it costs, with each field, its rule and what to do, and nothing recorded of it. */
import t from 'tap'
import { MAX_ADDRESSES, MAX_COMPARED_ADDRESSES, MAX_RULES, MAX_RULES_BYTES } from '../../src/core/policy.ts'
import { type KeyReply, withKeyStage } from '../support/key-stage.ts'

const DRAFT = 'PUT /v1/policies'
const addressOf = (n: number) => `0x${n.toString(16).padStart(40, '0')}`
const ruleOf = (n: number, more: object = {}) => ({ id: `rule${n}`, effect: 'deny', ...more })
const many = <Item>(count: number, make: (n: number) => Item) => Array.from({ length: count }, (_, n) => make(n))
const policyOf = (...rules: object[]) => ({ default: 'allow', rules })
const nested = (depth: number): unknown => (depth === 0 ? [] : { in: nested(depth - 1) })

const addresses = many(MAX_ADDRESSES, addressOf)
/** What is wrong, the policy, and the first field and code that are told. */
const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ['too many rules', policyOf(...many(MAX_RULES + 1, (n) => ruleOf(n))), /^policy\.rules \w+/],
  [
    'too many addresses in two lists',
    { ...policyOf(ruleOf(0)), lists: { one: addresses, two: [addressOf(0)] } },
    /^lists too_many/,
  ],
  [
    'too much text',
    policyOf(
      ...many(MAX_RULES, (n) =>
        ruleOf(n, {
          description: 'é'.repeat(256),
          match: { wallet_tags: { in: many(30, (m) => `${m}`.padEnd(20, 'x')) } },
        }),
      ),
    ),
    /^rules too_large/,
  ],
  ['the same id twice', policyOf(ruleOf(1), ruleOf(1)), /^rules\[1\]\.id duplicate/],
  ['an unknown field', policyOf({ ...ruleOf(1), priority: 1 }), /^policy\.rules\[0\]\.priority unknown_field/],
  [
    'an unknown condition',
    policyOf(ruleOf(1, { match: { amuont: {} } })),
    /^policy\.rules\[0\]\.match\.amuont unknown_field/,
  ],
  [
    'a deep condition',
    policyOf(ruleOf(1, { match: { recipients: nested(500) } })),
    /^policy\.rules\[0\]\.match\.recipients\.in/,
  ],
  ['a prototype as a list', JSON.parse('{"default":"allow","rules":[],"lists":{"__proto__":[]}}'), /./],
  [
    'a window of no time',
    policyOf({ id: 'a', effect: 'limit', limit: { count: 1, window_seconds: 0 } }),
    /window_seconds/,
  ],
  [
    'a window of 400 days',
    policyOf({ id: 'a', effect: 'limit', limit: { count: 1, window_seconds: 34_560_000 } }),
    /window_seconds/,
  ],
  [
    'a limit without an amount',
    policyOf({ id: 'a', effect: 'limit', limit: { window_seconds: 3_600 } }),
    /^rules\[0\]\.limit invalid/,
  ],
  [
    'an asset of nobody',
    policyOf({
      id: 'a',
      effect: 'limit',
      limit: { asset_id: 'eip155:1/slip44:60', amount: '1', window_seconds: 3_600 },
    }),
    /^rules\[0\]\.limit\.asset_id unknown_asset/,
  ],
  [
    'no address',
    policyOf(ruleOf(1, { match: { recipients: { in: ['0x12'] } } })),
    /^rules\[0\]\.match\.recipients\.in\[0\]/,
  ],
  [
    'no list',
    policyOf(ruleOf(1, { match: { recipients: { in: ['friends'] } } })),
    /^rules\[0\]\.match\.recipients\.in\[0\] not_allowed/,
  ],
  ['no object', 'allow everything', /^policy wrong_type/],
]

t.test('a hostile draft is refused, and the largest one is not', async (t) => {
  const { startApi, issue, pool } = await withKeyStage(t)
  const api = await startApi()
  const { token } = await issue()
  const draft = (policy: unknown, more: object = {}) =>
    api.send(token, { to: DRAFT, body: { revision: 0, policy, ...more } })
  const fields = ({ body }: KeyReply) => (body.errors ?? []).map(({ field, code }) => `${field} ${code}`)

  for (const [what, policy, field] of REFUSED) {
    const reply = await draft(policy)
    t.equal(reply.status, 422, what)
    t.match(fields(reply)[0], field, what)
  }
  t.match(fields(await draft(policyOf(), { revision: -1 }))[0], /^revision/)
  t.match(fields(await draft(policyOf(), { note: 'two\nlines' }))[0], /^note invalid_text/)
  t.match(fields(await draft(policyOf(), { note: 'x'.repeat(257) }))[0], /^note/)
  const values = await draft({ ...policyOf(), lists: { all: many(40_000, () => 0) } })
  t.equal(values.code, 'too_many_values', 'more values than any policy has')
  t.equal((await pool.query("SELECT FROM events WHERE stream_id LIKE 'policy-%'")).rowCount, 0)

  const naming = (count: number) =>
    many(MAX_RULES, (n) => ruleOf(n, n < count ? { match: { recipients: { in: ['all'] } } } : {}))
  const most = Math.floor(MAX_COMPARED_ADDRESSES / MAX_ADDRESSES)
  const rules = naming(most)
  t.ok(JSON.stringify(rules).length < MAX_RULES_BYTES)
  // The name of a list in a rule counts as an address.
  const all = many(MAX_ADDRESSES - MAX_RULES, addressOf)
  const compared = await draft({ default: 'allow', lists: { all }, rules: naming(most + 1) })
  t.match(fields(compared)[0], /^rules too_many/, 'a list that more conditions name than are compared')
  const largest = await draft({ default: 'allow', lists: { all }, rules })
  t.equal(largest.status, 200, JSON.stringify(largest.body.errors))
  const shown = await api.send(token, { to: 'GET /v1/policies' })
  t.equal(shown.data.draft.policy.lists.all.length, all.length)
  t.equal((await api.send(token, { to: 'POST /v1/policies/publish', body: { revision: 1 } })).status, 200)
})

t.test('a bad publication names its field, and changes nothing', async (t) => {
  const { startApi, issue, pool } = await withKeyStage(t)
  const api = await startApi()
  const { token } = await issue()
  const send = (to: string, body: object) => api.send(token, { to, body })
  await send(DRAFT, { revision: 0, policy: policyOf() })
  const cases: [string, object, string][] = [
    ['publish', {}, '- '],
    ['publish', { revision: 1, version: 1 }, 'version'],
    ['publish', { version: 0 }, 'version'],
    ['publish', { version: 1.5 }, 'version'],
    ['publish', { version: 1_000_000_000 }, 'version'],
    ['publish', { revision: 1, force: 'yes', reason: 'x' }, 'force'],
    ['publish', { revision: 1, force: true, reason: '' }, 'reason'],
    ['publish', { revision: 1, unknown: 1 }, 'unknown'],
    ['shadow', {}, 'revision'],
    ['shadow', { revision: '1' }, 'revision'],
  ]
  for (const [route, body, field] of cases) {
    const reply = await send(`POST /v1/policies/${route}`, body)
    t.equal(reply.status, 422, JSON.stringify(body))
    t.equal(`${reply.body.errors?.[0]?.field ?? '- '}`, field, JSON.stringify(body))
  }
  for (const path of ['0', '-1', '01', 'latest', '1e3', '9999999999'])
    t.equal((await api.send(token, { to: `GET /v1/policies/versions/${path}` })).status, 404, path)
  t.equal((await api.send(token, { to: 'GET /v1/policies/versions?cursor=abc' })).code, 'invalid_cursor')
  t.equal((await pool.query("SELECT FROM events WHERE stream_id LIKE 'policy-%'")).rowCount, 1)
})
