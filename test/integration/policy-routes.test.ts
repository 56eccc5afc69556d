/** Policies over HTTP, with the database user of the API: drafts, shadows, versions, and who may do what with them. */
import t, { type Test } from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { policyAggregate, policyStreamOf } from '../../src/policies/aggregate.ts'
import { policyHash } from '../../src/policies/manage-policies.ts'
import { type KeyApi, type KeyStage, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const POLICIES = 'GET /v1/policies'
const DRAFT = 'PUT /v1/policies'
const SHADOW = 'POST /v1/policies/shadow'
const PUBLISH = 'POST /v1/policies/publish'
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const OWNER = { tenantId: 'acme', environment: 'mainnet' } as const

const DENY_EXPORTS = { id: 'no-exports', effect: 'deny', match: { actions: ['export'] } }
const DAILY_CAP = { id: 'daily-cap', effect: 'limit', limit: { count: 10, window_seconds: 86_400 } }
const policyOf = (...rules: object[]) => ({ default: 'allow', rules })

type Stage = KeyStage & { readonly api: KeyApi; readonly admin: string }

async function withApi(t: Test): Promise<Stage> {
  const stage = await withKeyStage(t)
  return { ...stage, api: await stage.startApi(), admin: (await stage.issue()).token }
}

t.test('a draft becomes the shadow, then the active version, and each version stays as it was', async (t) => {
  const { api, admin, kernel, pool, issue } = await withApi(t)
  const send = (to: string, body?: object, once?: string) =>
    api.send(admin, { to, ...(body === undefined ? {} : { body }), ...(once === undefined ? {} : { once }) })
  t.match(await send(POLICIES), {
    status: 200,
    data: { environment: 'mainnet', active: null, shadow: null, draft: null },
  })
  const sent = { ...policyOf(DENY_EXPORTS), lists: { unused: [ALICE.toLowerCase()] } }
  const drafted = await send(DRAFT, { revision: 0, policy: sent, note: 'the first' })
  matchExactly(t, drafted, {
    status: 200,
    data: {
      active: null,
      draft: {
        revision: 1,
        note: 'the first',
        drafted_by: /^key_/,
        policy: { default: 'allow', price_max_age_seconds: 90_000, lists: { unused: [ALICE] }, rules: [DENY_EXPORTS] },
        warnings: [{ code: 'unused_list', rule: null }],
      },
    },
  })
  t.match(await send(SHADOW, { revision: 1 }, 'a'), {
    status: 200,
    data: { active: null, shadow: { version: 1, status: 'shadow', seeded: true, published_at: null, rules: 1 } },
  })
  t.match(await send(SHADOW, { revision: 1 }, 'a'), { status: 200, headers: { 'idempotency-replayed': 'true' } })
  const published = await send(PUBLISH, { version: 1 })
  t.match(published, {
    status: 200,
    data: {
      active: { version: 1, status: 'active', previous_version: 0, previous_hash: null, counting_basis: 'counted' },
      shadow: null,
    },
  })
  const next = policyOf(
    { ...DENY_EXPORTS, description: 'Never' },
    { id: 'more', effect: 'deny', match: { actions: ['swap'] } },
  )
  await send(DRAFT, { revision: 1, policy: next })
  const draft = (await send('GET /v1/policies/versions/draft?against=1')).data
  matchExactly(t, draft, {
    version: null,
    revision: 2,
    summary: null,
    diff: {
      against: 1,
      default: null,
      rules: { added: [{ id: 'more' }], removed: [], changed: [{ id: 'no-exports', after: { description: 'Never' } }] },
      lists: [{ name: 'unused', added: [], removed: [ALICE] }],
    },
  })
  const second = (await send(PUBLISH, { revision: 2 })).data
  t.match(second.active, { version: 2, previous_version: 1, previous_hash: published.data.active.hash })
  const first = (await send('GET /v1/policies/versions/1')).data
  t.match(first, { version: 1, summary: { status: 'replaced', ended_at: second.active.published_at }, diff: null })
  t.strictSame(first.policy, published.data.active.policy)
  const listed = (await send('GET /v1/policies/versions?limit=1')).data
  matchExactly(t, listed, { versions: [{ version: 2, status: 'active' }], has_more: true })
  t.notOk('policy' in listed.versions[0])
  matchExactly(t, await send(`GET /v1/policies/versions?limit=1&cursor=${listed.next_cursor}`), {
    data: { versions: [{ version: 1, status: 'replaced' }], has_more: false },
  })
  t.match(await send('GET /v1/policies/versions/3'), { status: 404, code: 'policy_version_not_found' })
  t.match(await send('GET /v1/policies/versions/1?against=9'), { status: 404, code: 'policy_version_not_found' })

  const { state } = await kernel.log.load(policyAggregate, policyStreamOf(OWNER))
  t.equal(state.status === 'known' && policyHash(state.active?.policy ?? state.draft.policy), second.active.hash)
  const other = await issue({ environment: 'testnet' })
  const foreign = await issue({ tenantId: 'globex' })
  for (const { token } of [other, foreign]) {
    t.match((await api.send(token, { to: POLICIES })).data, { active: null, shadow: null, draft: null })
    t.equal((await api.send(token, { to: 'GET /v1/policies/versions/1' })).status, 404)
    t.equal((await api.send(token, { to: PUBLISH, body: { version: 2 } })).code, 'policy_changed')
  }
  t.strictSame((await compareLive(pool, LOG_CONTENTS)).differences, [])
})

t.test('a draft that is read again can be sent again as it was shown', async (t) => {
  const { api, admin } = await withApi(t)
  const policy = {
    default: 'deny',
    price_max_age_seconds: 3_600,
    lists: { friends: [ALICE] },
    rules: [
      {
        id: 'all',
        description: 'Everything that a rule can say',
        effect: 'require_approval',
        match: {
          actions: ['transfer'],
          networks: ['ethereum'],
          wallets: { in: ['wal_1'] },
          wallet_tags: { not_in: ['hot'] },
          api_keys: { in: ['key_1'] },
          assets: { in: ['eip155:1000001/slip44:60'] },
          buys: { not_in: ['eip155:1000001/slip44:60'] },
          recipients: { in: ['friends', 'own_wallets'] },
          contracts: { in: [ALICE] },
          spenders: { not_in: ['friends'] },
          methods: { in: ['transfer(address,uint256)', '0xdeadbeef'] },
          typed_data: { primary_types: { in: ['Permit'] }, verifying_contracts: { in: ['friends'] }, chain_ids: [1] },
          amount: { asset_id: 'eip155:1000001/slip44:60', gte: '0.5', lt: '10' },
          amount_usd: { gte: '100.25' },
          unlimited: false,
          slippage_bps: { lt: 50 },
          time: { zone: 'Europe/Zurich', days: ['mon'], month_days: [1, 25], from: '09:05', to: '24:00' },
        },
        on_unknown_price: 'require_approval',
        approval: { group: 'treasurers', quorum: 2 },
      },
      { id: 'count', effect: 'limit', limit: { count: 3, window_seconds: 3_600, per: 'recipient' } },
      {
        id: 'eth',
        effect: 'limit',
        limit: { asset_id: 'eip155:1000001/slip44:60', amount: '1.000000000000000001', window_seconds: 60 * 60 },
      },
      { id: 'usd', effect: 'limit', limit: { amount_usd: '0.000001', window_seconds: 2_678_400, per: 'wallet' } },
    ],
  }
  const first = await api.send(admin, { to: DRAFT, body: { revision: 0, policy } })
  t.equal(first.status, 200, JSON.stringify(first.body.errors))
  const again = await api.send(admin, { to: DRAFT, body: { revision: 1, policy: first.data.draft.policy } })
  t.match(again, { status: 200, data: { draft: { revision: 1 } } }, 'nothing differs, so nothing is drafted')
  matchExactly(t, first.data.draft.policy.rules[0].match.methods, { in: ['0xa9059cbb', '0xdeadbeef'] })
  t.match(await api.send(admin, { to: PUBLISH, body: { revision: 1 } }), { status: 422, code: 'approval_unavailable' })
  t.match(await api.send(admin, { to: SHADOW, body: { revision: 1 } }), {
    status: 200,
    data: { shadow: { seeded: false } },
  })
})

t.test('of requests at the same time one wins, and the others are told what is current', async (t) => {
  const { startApi, admin, pool } = await withApi(t)
  const apis = await Promise.all([startApi(), startApi(), startApi()])
  const all = async (to: string, bodyOf: (n: number) => object) => {
    const sent = Array.from({ length: 12 }, (_, n) => apis[n % apis.length]?.send(admin, { to, body: bodyOf(n) }))
    return (await Promise.all(sent)).map((reply) => reply ?? { status: 0, code: '', data: null, body: null })
  }
  const won = (replies: readonly { readonly status: number; readonly code?: string | undefined }[]) => {
    t.equal(replies.filter(({ status }) => status === 200).length, 1)
    t.equal(replies.filter(({ status, code }) => status === 409 && code === 'policy_changed').length, 11)
  }
  const different = (n: number) => policyOf({ ...DENY_EXPORTS, description: `draft ${n}` })
  won(await all(DRAFT, (n) => ({ revision: 0, policy: different(n) })))
  const api = apis[0] as KeyApi
  const { draft } = (await api.send(admin, { to: POLICIES })).data
  t.equal(draft.revision, 1)
  const late = await api.send(admin, { to: DRAFT, body: { revision: 0, policy: policyOf() } })
  matchExactly(t, late.body, { errors: [{ code: 'policy_changed', details: { revision: 1, version: null } }] })

  const published = await all(PUBLISH, () => ({ revision: 1 }))
  t.strictSame([...new Set(published.map(({ status }) => status))], [200], 'they ask for the same')
  t.equal((await pool.query("SELECT FROM events WHERE type = 'PolicyPublished'")).rowCount, 1)
  await api.send(admin, { to: DRAFT, body: { revision: 1, policy: policyOf() } })
  // Half of them publish what is not the draft any more.
  const mixed = await all(PUBLISH, (n) => ({ revision: 1 + (n % 2) }))
  t.equal(mixed.filter(({ status }) => status === 200).length, 6)
  t.equal((await pool.query("SELECT FROM events WHERE type = 'PolicyPublished'")).rowCount, 2)
})

t.test('a lesser key reads no policy, drafts none and publishes none', async (t) => {
  const { api, issue } = await withApi(t)
  const tokenOf = async (...scopes: string[]) => (await issue({ scopes })).token
  const [star, reader, writer, publisher] = [
    await tokenOf('*'),
    await tokenOf('policies:read'),
    await tokenOf('policies:write'),
    await tokenOf('policies:publish'),
  ]
  const may = async (token: string, to: string, body?: object) =>
    (await api.send(token, { to, ...(body === undefined ? {} : { body }) })).code !== 'insufficient_scope'
  const calls: [string, object | undefined, string][] = [
    [POLICIES, undefined, reader],
    ['GET /v1/policies/versions', undefined, reader],
    ['GET /v1/policies/versions/draft', undefined, reader],
    [DRAFT, { revision: 0, policy: policyOf() }, writer],
    [SHADOW, { revision: 1 }, publisher],
    ['DELETE /v1/policies/shadow', undefined, publisher],
    [PUBLISH, { revision: 1 }, publisher],
  ]
  for (const [to, body, allowed] of calls)
    for (const token of [star, reader, writer, publisher]) t.equal(await may(token, to, body), token === allowed, to)
})

t.test('limits that count something new are published when they know the past', async (t) => {
  const { api, admin, issue, pool, kernel } = await withApi(t)
  const send = (to: string, body: object) => api.send(admin, { to, body })
  await send(DRAFT, { revision: 0, policy: policyOf(DAILY_CAP) })
  t.match(await send(PUBLISH, { revision: 1 }), {
    status: 200,
    data: { active: { version: 1, counting_basis: 'nothing_opened' } },
  })
  const { rows } = await pool.query(
    "SELECT type FROM events WHERE stream_id = 'policy-acme-mainnet' ORDER BY stream_version",
  )
  t.strictSame(
    rows.map(({ type }) => type),
    ['PolicyDrafted', 'PolicyShadowed', 'PolicyPublished'],
    'from the shadow on everything counts, and nothing was there before',
  )
  // A key that is made by a key is a request that policies judge.
  await issue({ scopes: ['api_keys:write', 'wallets:read'] }).then(({ token }) =>
    api.send(token, { to: 'POST /v1/api-keys', body: { scopes: ['wallets:read'] } }),
  )
  const lower = { ...DAILY_CAP, limit: { ...DAILY_CAP.limit, count: 5 } }
  await send(DRAFT, { revision: 1, policy: policyOf(lower) })
  t.match(await send(PUBLISH, { revision: 2 }), { status: 200, data: { active: { counting_basis: 'counted' } } })
  const hourly = { id: 'hourly', effect: 'limit', limit: { count: 2, window_seconds: 3_600 } }
  await send(DRAFT, { revision: 2, policy: policyOf(lower, hourly) })
  matchExactly(t, (await send(PUBLISH, { revision: 3 })).body, {
    errors: [{ code: 'policy_not_seeded', details: { rules: ['hourly'] } }],
  })
  t.match(await send(SHADOW, { revision: 3 }), { status: 200, data: { shadow: { version: 3, seeded: false } } })
  for (const body of [{ revision: 3 }, { version: 3 }])
    t.match(await send(PUBLISH, body), { status: 409, code: 'policy_not_seeded' })
  await kernel.log.execute(
    policyAggregate,
    policyStreamOf(OWNER),
    { type: 'SeedPolicy', version: 3, now: kernel.log.now() },
    { metadata: { tenantId: 'acme', actor: 'worker:dispatcher' } },
  )
  t.match(await send(PUBLISH, { revision: 3 }), {
    status: 200,
    data: { active: { version: 3, counting_basis: 'seeded' }, shadow: null },
  })
})

t.test('a shadow ends when it is asked to, or another one begins', async (t) => {
  const { api, admin } = await withApi(t)
  const send = (to: string, body?: object) => api.send(admin, { to, ...(body === undefined ? {} : { body }) })
  t.match(await send('DELETE /v1/policies/shadow'), { status: 200, data: { shadow: null } })
  await send(DRAFT, { revision: 0, policy: policyOf(DENY_EXPORTS) })
  await send(SHADOW, { revision: 1 })
  await send(DRAFT, { revision: 1, policy: policyOf() })
  t.match(await send(SHADOW, { revision: 2 }), { data: { shadow: { version: 2 } } })
  t.match(await send('GET /v1/policies/versions/1'), { data: { summary: { status: 'ended', ended_at: String } } })
  t.match(await send('DELETE /v1/policies/shadow?version=1'), { status: 409, code: 'policy_changed' })
  t.match(await send('DELETE /v1/policies/shadow?version=2'), { status: 200, data: { shadow: null } })
  t.match(await send('DELETE /v1/policies/shadow'), { status: 200 })
  t.match(await send(PUBLISH, { version: 2 }), { status: 409, code: 'policy_changed' })
})

t.test('a policy under which nobody could make a key that publishes is published only if it is forced', async (t) => {
  const stage = await withKeyStage(t)
  const api = await stage.startApi()
  const expiresAt = '2999-01-01T00:00:00.000Z'
  const { token } = await stage.issue({ expiresAt })
  const send = (to: string, body: object) => api.send(token, { to, body })
  const denied = policyOf({ id: 'no-keys', effect: 'deny', match: { actions: ['api_key_change'] } })
  await send(DRAFT, { revision: 0, policy: denied })
  t.match(await send(PUBLISH, { revision: 1 }), { status: 409, code: 'policy_locks_out' })
  t.match(await send(PUBLISH, { revision: 1, force: true }), { status: 422, code: 'required' })
  t.match(await send(PUBLISH, { revision: 1, reason: 'x' }), { status: 422, code: 'not_allowed' })
  const forced = { revision: 1, force: true, reason: 'Only operators issue keys' }
  t.match(await send(PUBLISH, forced), { status: 200, data: { active: { forced: 'Only operators issue keys' } } })

  const inOffice = {
    id: 'keys',
    effect: 'deny',
    match: { actions: ['api_key_change'], time: { zone: 'UTC', days: ['sat', 'sun'] } },
  }
  await send(DRAFT, { revision: 1, policy: policyOf(inOffice) })
  t.match(await send(PUBLISH, { revision: 2 }), { status: 200, data: { active: { forced: null } } }, 'not at all times')
  await stage.issue({ scopes: ['policies:publish'] })
  await send(DRAFT, { revision: 2, policy: denied })
  t.match(await send(PUBLISH, { revision: 3 }), { status: 200 }, 'a key that does not expire publishes')
})
