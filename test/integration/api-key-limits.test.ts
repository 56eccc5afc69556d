/** API keys with limits through the whole service: what they may spend, and what is refused. */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { LOG_CONTENTS } from '../../src/compose/capabilities.ts'
import { compareLive } from '../../src/event-log/replay.ts'
import { accepted, type Client, createClient } from '../support/client.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { RECIPIENT, withStage } from '../support/service-stage.ts'

const ETHER = 'eip155:1000001/slip44:60'
const DAY = 86_400
const SPENDS = ['wallets:read', 'transactions:read', 'transactions:write']

const { service, settle } = await withStage(t)
const [wallet] = await service.makeWallets(1)
const { baseUrl } = service

type Made = { readonly id: string; readonly client: Client }

async function makeKey(limits: readonly object[], { by = service.api, scopes = SPENDS } = {}): Promise<Made> {
  const body = { label: 'shop', scopes, limits }
  const { key_id: id, api_key } = accepted(await by.insist({ method: 'POST', path: '/v1/api-keys', body }))
  return { id, client: createClient(baseUrl, api_key) }
}

const pay = (client: Client, amount: string, key?: string) =>
  client.send(`/v1/wallets/${wallet?.id}/transfer`, { to: RECIPIENT, amount, asset: 'ETH' }, key)

const spentOn = async (keyId: string) =>
  BigInt(
    (
      await service.pool.query('SELECT coalesce(sum(spent), 0) AS spent FROM spend_buckets WHERE counter LIKE $1', [
        `${keyId} %`,
      ])
    ).rows[0].spent,
  )

t.test(
  'a key that may spend 1 ETH a day spends no more from twelve clients, and a repeated request is no second spend',
  async (t) => {
    const { id, client } = await makeKey([{ asset_id: ETHER, amount: '1', window_seconds: DAY }])
    const keys = Array.from({ length: 24 }, () => randomBytes(8).toString('hex'))
    const paid = await Promise.all(keys.map((key) => pay(client, '0.11', key)))
    t.equal(paid.filter(({ status }) => status === 202).length, 9, 'with their fees')
    const refused = paid.filter(({ status }) => status !== 202)
    for (const { status, body } of refused)
      t.match({ status, code: body.errors?.[0]?.code }, { status: 403, code: 'key_limit' })
    t.match(refused[0]?.body.errors?.[0], {
      type: 'policy_error',
      details: {
        limit: '1',
        unit: 'ETH',
        window_seconds: DAY,
        left: /^0\.0\d+$/,
        needed: /^0\.11\d+$/,
        available_at: /T.*Z$/,
      },
    })
    const before = await spentOn(id)
    const again = await Promise.all(keys.map((key) => pay(client, '0.11', key)))
    t.strictSame(
      again.map(({ status, body }) => [status, body.data?.transaction_id]),
      paid.map(({ status, body }) => [status, body.data?.transaction_id]),
      'each is answered as before',
    )
    t.equal(await spentOn(id), before)
    t.equal((await pay(service.api, '0.5')).status, 202, 'another key has no limit')
  },
)

t.test('what the limits of a key do not name cannot be spent with it', async (t) => {
  const { client } = await makeKey([{ asset_id: ETHER, amount: '5', window_seconds: DAY }])
  const body = {
    items: [
      { to: RECIPIENT, amount: '2', asset: 'ETH' },
      { to: RECIPIENT, amount: '4', asset: 'ETH' },
    ],
  }
  const batch = {
    method: 'POST',
    path: `/v1/wallets/${wallet?.id}/transfers`,
    key: randomBytes(8).toString('hex'),
    body,
  } as const
  matchExactly(
    t,
    await client.insist(batch),
    { status: 403, body: { errors: [{ code: 'key_limit', details: { left: '5' } }] } },
    'no part of a batch',
  )
  const dollars = await makeKey([{ amount_usd: '10', window_seconds: DAY }])
  matchExactly(
    t,
    await pay(dollars.client, '0.01'),
    { status: 403, body: { errors: [{ code: 'key_limit' }] } },
    'no price is known',
  )
  const count = await makeKey([{ transactions: 1, window_seconds: 3_600 }])
  t.equal((await pay(count.client, '0.01')).status, 202)
  matchExactly(t, await pay(count.client, '0.01'), {
    status: 403,
    body: { errors: [{ details: { unit: 'transactions', left: '0' } }] },
  })
})

t.test('a key that another one makes, or that replaces it, counts on the limits of both', async (t) => {
  const limits = [{ asset_id: ETHER, amount: '1', window_seconds: DAY }]
  const maker = await makeKey(limits, { scopes: [...SPENDS, 'api_keys:read', 'api_keys:write'] })
  const made = await makeKey([{ asset_id: ETHER, amount: '50', window_seconds: DAY }], { by: maker.client })
  matchExactly(t, (await maker.client.insist({ path: `/v1/api-keys/${made.id}` })).body.data.limits, [
    { asset_id: ETHER, amount: '50', window_seconds: DAY, inherited: false },
    { asset_id: ETHER, amount: '1', window_seconds: DAY, inherited: true },
  ])
  t.equal((await pay(made.client, '0.9')).status, 202)
  t.equal((await pay(maker.client, '0.2')).status, 403, 'what the other spent')

  const change = (client: Client, keyId: string, asked: readonly object[]) =>
    client.insist({ method: 'PATCH', path: `/v1/api-keys/${keyId}`, body: { limits: asked } })
  for (const asked of [
    [],
    [{ asset_id: ETHER, amount: '2', window_seconds: DAY }],
    [{ asset_id: ETHER, amount: '1', window_seconds: 3_600 }],
  ])
    matchExactly(t, await change(maker.client, maker.id, asked), {
      status: 403,
      body: { errors: [{ code: 'beyond_own_key' }] },
    })
  t.match(
    await change(maker.client, made.id, [{ asset_id: ETHER, amount: '60', window_seconds: DAY }]),
    { status: 200 },
    'within its own limits',
  )
  t.equal((await change(service.api, maker.id, [{ asset_id: ETHER, amount: '2', window_seconds: DAY }])).status, 200)
  t.equal((await pay(maker.client, '0.2')).status, 202, 'at once in the process that raised it')
  const path = `/v1/api-keys/${maker.id}/rotate`
  const rotated = await maker.client.insist({ method: 'POST', path, key: 'rotate', body: { overlap_seconds: 60 } })
  const next = createClient(baseUrl, rotated.body.data.api_key)
  t.equal((await pay(next, '0.95')).status, 403, 'a key that is replaced begins with what was spent')
})

t.test('a key is told what is left, and a preview what a transfer would be told', async (t) => {
  const scopes = [...SPENDS, 'api_keys:read']
  const { id, client } = await makeKey([{ asset_id: ETHER, amount: '1', window_seconds: DAY }], { scopes })
  const limit = { asset_id: ETHER, amount: '1', window_seconds: DAY, inherited: false }
  const shown = async (path: string) => (await client.insist({ path })).body.data.limits
  t.strictSame(await shown('/v1/me'), [{ ...limit, left: '1', available_at: null }])
  const preview = (amount: string) =>
    client.insist({
      method: 'POST',
      path: `/v1/wallets/${wallet?.id}/transfer/preview`,
      body: { to: RECIPIENT, amount, asset: 'ETH' },
    })
  t.match(await preview('0.9'), { status: 200, body: { data: { would_succeed: true } } })
  t.equal((await pay(client, '0.9')).status, 202)
  for (const path of ['/v1/me', `/v1/api-keys/${id}`])
    matchExactly(t, await shown(path), [{ ...limit, left: /^0\.0\d+$/, available_at: null }])
  const listed = (await client.insist({ path: '/v1/api-keys?limit=1' })).body.data.api_keys
  t.strictSame(listed[0].limits, [limit], 'a list does not say what is left')

  const refused = await preview('0.2')
  matchExactly(t, refused, { status: 403, body: { errors: [{ code: 'key_limit', details: { left: /^0\.0\d+$/ } }] } })
  t.strictSame(refused.body.errors, (await pay(client, '0.2')).body.errors, 'as the transfer')
  t.equal((await preview('0.01')).status, 200)
  matchExactly(t, await preview('5'), { status: 403, body: { errors: [{ details: { available_at: null } }] } })

  const count = await makeKey([{ transactions: 1, window_seconds: 3_600 }], { scopes })
  t.equal((await pay(count.client, '0.01')).status, 202)
  matchExactly(t, (await count.client.insist({ path: '/v1/me' })).body.data.limits, [
    { transactions: 1, left: '0', available_at: /T.*Z$/ },
  ])
})

t.test('a maker whose limit was lowered replaces keys that it made, with the lower amount', async (t) => {
  const scopes = [...SPENDS, 'api_keys:read', 'api_keys:write']
  const limit = (amount: string) => ({ asset_id: ETHER, amount, window_seconds: DAY })
  const maker = await makeKey([limit('2')], { scopes })
  const made = await makeKey([limit('1.5')], { by: maker.client })
  const lowered = [limit('1'), { requests_per_day: 500 }]
  t.match(await service.api.insist({ method: 'PATCH', path: `/v1/api-keys/${maker.id}`, body: { limits: lowered } }), {
    status: 200,
  })
  const path = `/v1/api-keys/${made.id}/rotate`
  const rotated = await maker.client.insist({
    method: 'POST',
    path,
    key: 'rotate-lowered',
    body: { overlap_seconds: 0 },
  })
  t.match(rotated, { status: 201 })
  matchExactly(t, rotated.body.data.limits, [
    { ...limit('1.5'), inherited: false },
    { ...limit('1'), inherited: true },
    { requests_per_day: 500, inherited: true },
  ])
  t.equal(rotated.body.data.limits.length, 3)
  const next = createClient(baseUrl, rotated.body.data.api_key)
  matchExactly(t, await pay(next, '1.2'), { status: 403, body: { errors: [{ details: { limit: '1' } }] } })
})

t.test('a limit that refuses requests is reported once', async (t) => {
  const { id, client } = await makeKey([{ asset_id: ETHER, amount: '0.1', window_seconds: DAY }])
  const reports = async () => {
    const path = `/v1/events?types=api_key.limit_reached&resource=${id}&wait=30`
    return (await service.api.insist({ path })).body.data.events
  }
  const refused = await Promise.all(Array.from({ length: 12 }, () => pay(client, '0.5')))
  t.ok(refused.every(({ status }) => status === 403))
  const limit = { asset_id: ETHER, amount: '0.1', window_seconds: DAY, inherited: false }
  const data = { key_id: id, limit, left: '0.1', needed: /^0\.5\d+$/, unit: 'ETH', available_at: null }
  const [first, ...others] = await reports()
  t.match(first, { type: 'api_key.limit_reached', resource: { type: 'api_key_limit', id, version: 1 }, data })
  t.strictSame(others, [])
  t.equal((await pay(client, '0.6')).status, 403)
  const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
  const counted = /bursar_api_key_refusals_total\{reason="limit",process="api"\} (\d+)/.exec(metrics)?.[1]
  t.ok(Number(counted) >= 12, `${counted} refusals were counted`)
  t.equal((await reports()).length, 1)
})

t.test('limits that are none are refused, each with its field', async (t) => {
  const refusal = async (limits: readonly object[], scopes = SPENDS) => {
    const { status, body } = await service.api.insist({
      method: 'POST',
      path: '/v1/api-keys',
      body: { scopes, limits },
    })
    return [status, body.errors?.[0]?.field, body.errors?.[0]?.code]
  }
  const limit = { asset_id: ETHER, amount: '1', window_seconds: DAY }
  t.strictSame(await refusal([{ window_seconds: DAY }]), [422, 'limits[0]', 'invalid'])
  t.strictSame(await refusal([{ ...limit, transactions: 1 }]), [422, 'limits[0]', 'invalid'])
  t.strictSame(await refusal([{ ...limit, asset_id: 'eip155:1/slip44:60' }]), [
    422,
    'limits[0].asset_id',
    'unknown_asset',
  ])
  t.strictSame(await refusal([{ ...limit, amount: '0.1234567890123456789' }]), [
    422,
    'limits[0].amount',
    'too_many_decimals',
  ])
  for (const [window_seconds, code] of [
    [0, 'too_small'],
    [3_599, 'too_small'],
    [3_601, 'invalid'],
    [34_560_000, 'too_large'],
  ] as const)
    t.strictSame(await refusal([{ ...limit, window_seconds }]), [422, 'limits[0].window_seconds', code])
  t.strictSame(await refusal([limit, limit]), [422, 'limits', 'duplicate'])
  t.strictSame(await refusal([limit], [...SPENDS, 'signatures:write']), [422, 'limits', 'limits_with_scope'])
})

t.test('after all outcomes the counters are those that the log gives', async (t) => {
  await settle()
  t.strictSame(
    (await compareLive(service.pool, LOG_CONTENTS, { tables: ['spend_buckets', 'api_keys'] })).differences,
    [],
  )
})

t.end()
