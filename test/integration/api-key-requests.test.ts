/** Requests a day of API keys: exactly the limit by all processes, whatever ends, and what others than the API may do to the counts. */
import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import { DATABASE_ROLES } from '../../src/core/database-roles.ts'
import { createClient } from '../support/client.ts'
import { poolUntilEnd } from '../support/database-login.ts'
import { type KeyApi, type KeyStage, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { withStage } from '../support/service-stage.ts'
import { startVictimApi } from '../support/victims.ts'

const ME = { to: 'GET /v1/me' }
const MANAGES = ['api_keys:read', 'api_keys:write', 'wallets:read']

type Made = { readonly keyId: string; readonly token: string }

async function withApis(t: Test) {
  const stage = await withKeyStage(t)
  const pooled = { DATABASE_POOL_SIZE: '12', QUOTA_API_KEYS: '0' }
  const [here, there] = [await stage.startApi(pooled), await stage.startApi(pooled)]
  const { token: admin } = await stage.issue()
  return { ...stage, here, there, admin }
}

async function makeKey(
  api: KeyApi,
  by: string,
  limits: readonly object[],
  scopes: readonly string[] = MANAGES,
): Promise<Made> {
  const { status, body, data } = await api.send(by, { to: 'POST /v1/api-keys', body: { scopes, limits } })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return { keyId: data.key_id, token: data.api_key }
}

/** How many of so many requests at once, half of them to each process, are let in. */
async function letIn([here, there]: readonly [KeyApi, KeyApi], token: string, requests: number): Promise<number> {
  const all = await Promise.all(
    Array.from({ length: requests }, (_, n) => (n % 2 === 0 ? here : there).send(token, ME)),
  )
  return all.filter(({ status }) => status === 200).length
}

/** As if the day had passed: its counts are those of the day before. */
async function passDay({ pool }: Pick<KeyStage, 'pool'>): Promise<void> {
  // In two steps, so that no two days are the same meanwhile.
  await pool.query('UPDATE api_key_requests SET day = day - 1001')
  await pool.query('UPDATE api_key_requests SET day = day + 1000')
}
const takenOf = async (pool: Pool, keyId: string) =>
  (await pool.query('SELECT taken FROM api_key_requests WHERE counter LIKE $1 ORDER BY day', [`${keyId} %`])).rows.map(
    ({ taken }) => taken as number,
  )

t.test('two processes with twelve connections each let exactly the limit in, and say when there is room', async (t) => {
  const { here, there, admin, pool } = await withApis(t)
  for (const limit of [7, 250]) {
    const { keyId, token } = await makeKey(here, admin, [{ requests_per_day: limit }])
    t.equal(await letIn([here, there], token, limit + 60), limit)
    t.strictSame(await takenOf(pool, keyId), [limit])
    const midnight = new Date(Math.ceil((Date.now() + 1) / 86_400_000) * 86_400_000).toISOString()
    matchExactly(t, (await there.send(token, ME)).body.errors, [
      {
        type: 'policy_error',
        code: 'key_limit',
        details: {
          limit: `${limit}`,
          left: '0',
          needed: '1',
          unit: 'requests',
          window_seconds: 86_400,
          available_at: midnight,
        },
      },
    ])
    matchExactly(t, (await here.send(admin, { to: `GET /v1/api-keys/${keyId}` })).data.limits, [
      { requests_per_day: limit, window_seconds: 86_400, inherited: false, left: '0', available_at: midnight },
    ])
  }
  t.match(
    (await here.kernel.metrics.registry.metrics()).match(/api_key_refusals_total\{reason="limit".*\} (\d+)/)?.[1],
    /[1-9]/,
  )
})

t.test('a request that is refused for its scope, and one of a report, counts on nothing', async (t) => {
  const { here, admin, pool } = await withApis(t)
  const { keyId, token } = await makeKey(here, admin, [{ requests_per_day: 1 }], ['wallets:read'])
  for (let n = 0; n < 3; n += 1)
    t.equal((await here.send(token, { to: 'GET /v1/api-keys' })).code, 'insufficient_scope')
  t.strictSame(await takenOf(pool, keyId), [])
  t.equal((await here.send(token, ME)).status, 200)
  t.equal((await here.send(token, ME)).code, 'key_limit')
  t.equal((await here.send(null, { to: 'POST /v1/api-keys/report', body: { api_key: token } })).status, 202)
  t.equal((await here.send(token, ME)).code, 'api_key_invalid')
})

t.test('a key whose requests another one has used up can revoke that one', async (t) => {
  const { here, there, admin } = await withApis(t)
  const maker = await makeKey(here, admin, [{ requests_per_day: 3 }])
  const made = await makeKey(here, maker.token, [])
  t.equal(await letIn([here, there], made.token, 10), 2)
  t.equal((await here.send(maker.token, ME)).code, 'key_limit')
  const { status, data } = await here.send(maker.token, { to: `DELETE /v1/api-keys/${made.keyId}` })
  t.match({ status, data }, { status: 200, data: { status: 'revoked' } })
  t.equal((await here.send(made.token, ME)).code, 'api_key_invalid')
})

t.test('no key has more by making, changing or replacing one', async (t) => {
  const { here, there, admin } = await withApis(t)
  const both = [here, there] as const
  const maker = await makeKey(here, admin, [{ requests_per_day: 40 }])
  const made = await makeKey(here, maker.token, [{ requests_per_day: 1_000 }])
  matchExactly(t, (await there.send(admin, { to: `GET /v1/api-keys/${made.keyId}` })).data.limits, [
    { requests_per_day: 1_000, inherited: false },
    { requests_per_day: 40, inherited: true },
  ])
  const raise = { to: `PATCH /v1/api-keys/${maker.keyId}`, body: { limits: [{ requests_per_day: 41 }] } }
  t.equal((await here.send(maker.token, raise)).code, 'beyond_own_key')
  const take = { to: `PATCH /v1/api-keys/${maker.keyId}`, body: { limits: [] } }
  t.equal((await here.send(maker.token, take)).code, 'beyond_own_key')
  const replaced = await here.send(maker.token, {
    to: `POST /v1/api-keys/${maker.keyId}/rotate`,
    body: { overlap_seconds: 600 },
  })
  t.equal(replaced.status, 201)
  const next = replaced.data.api_key as string
  // Four requests of the maker are on its count.
  t.equal(await letIn(both, made.token, 20), 20)
  t.equal((await letIn(both, next, 30)) + (await letIn(both, maker.token, 30)), 16, 'on the count of the first')
  t.equal(await letIn(both, made.token, 5), 0)
  t.equal((await here.send(admin, raise)).status, 200)
  t.equal((await here.send(maker.token, ME)).status, 200, 'at once in the process that raised it')
  t.equal((await here.send(maker.token, ME)).code, 'key_limit')
})

t.test('another day has another allowance, and old days are deleted', async (t) => {
  const stage = await withApis(t)
  const { here, there, admin, pool, startApi } = stage
  const { keyId, token } = await makeKey(here, admin, [{ requests_per_day: 5 }])
  t.equal(await letIn([here, there], token, 12), 5)
  await passDay(stage)
  // Processes whose day has not ended: these have no more.
  t.equal(await letIn([here, there], token, 4), 0)
  t.equal(await letIn([await startApi(), await startApi()], token, 12), 5)
  await pool.query(
    `INSERT INTO api_key_requests SELECT current_date - n, 'key_old requests 86400', 1 FROM generate_series(2, 30) AS n`,
  )
  await passDay(stage)
  t.equal((await (await startApi()).send(token, ME)).status, 200)
  t.strictSame(await takenOf(pool, keyId), [5, 5, 1])
  const { rows } = await pool.query(`SELECT max(current_date - day) AS days FROM api_key_requests`)
  t.equal(rows[0].days, 7)
})

t.test('limits of requests that are none are refused, each with its field', async (t) => {
  const { here, admin } = await withApis(t)
  const fault = async (limits: readonly object[]) => {
    const { status, body } = await here.send(admin, {
      to: 'POST /v1/api-keys',
      body: { scopes: ['wallets:read'], limits },
    })
    return [status, body.errors?.[0]?.field, body.errors?.[0]?.code]
  }
  t.strictSame(await fault([{ requests_per_day: 0 }]), [422, 'limits[0].requests_per_day', 'too_small'])
  t.strictSame(await fault([{ requests_per_day: 1.5 }]), [422, 'limits[0].requests_per_day', 'wrong_type'])
  t.strictSame(await fault([{ requests_per_day: 5, window_seconds: 3_600 }]), [
    422,
    'limits[0].window_seconds',
    'invalid',
  ])
  t.strictSame(await fault([{ transactions: 5 }]), [422, 'limits[0].window_seconds', 'invalid'])
  t.strictSame(await fault([{ requests_per_day: 5, transactions: 5 }]), [422, 'limits[0]', 'invalid'])
  t.strictSame(await fault([{ requests_per_day: 5 }, { requests_per_day: 6, window_seconds: 86_400 }]), [
    422,
    'limits',
    'duplicate',
  ])
})

t.test('no login lowers a count: the API can only take, and no other can do even that', async (t) => {
  const { here, admin, pool, urlAs } = await withApis(t)
  const { keyId, token } = await makeKey(here, admin, [{ requests_per_day: 3 }])
  await letIn([here, here], token, 5)
  const counter = `${keyId} requests 86400`
  for (const role of DATABASE_ROLES) {
    const login = poolUntilEnd(t, { connectionString: urlAs(role), max: 1 })
    for (const text of [
      'UPDATE api_key_requests SET taken = 0',
      'DELETE FROM api_key_requests',
      `INSERT INTO api_key_requests VALUES (current_date, 'key_x', 0)`,
      'TRUNCATE api_key_requests',
      'SELECT FROM api_key_requests FOR UPDATE',
      ...(role === 'api' ? [] : [`SELECT take_requests('${counter}', 3, 1)`]),
    ])
      await t.rejects(login.query(text), { code: '42501' }, `${role}: ${text}`)
  }
  const api = poolUntilEnd(t, { connectionString: urlAs('api'), max: 1 })
  for (const atMost of [-1, 0, 1_000_000_001, null])
    await t.rejects(api.query('SELECT take_requests($1, $2, 1)', [counter, atMost]), { code: '22023' })
  for (const wanted of [-1, 0, 4, null])
    await t.rejects(api.query('SELECT take_requests($1, 3, $2)', [counter, wanted]), { code: '22023' })
  t.equal((await api.query('SELECT granted FROM take_requests($1, 3, 3)', [counter])).rows[0].granted, 0)
  t.strictSame(await takenOf(pool, keyId), [3])
})

t.test('a limit that refuses requests is reported once, and the answer does not wait for it', async (t) => {
  const { here, there, admin } = await withApis(t)
  const { keyId, token } = await makeKey(here, admin, [{ requests_per_day: 2 }])
  t.equal(await letIn([here, there], token, 20), 2)
  const { data } = await here.send(admin, {
    to: `GET /v1/events?types=api_key.limit_reached&resource=${keyId}&wait=30`,
  })
  matchExactly(t, data.events, [
    { data: { key_id: keyId, limit: { requests_per_day: 2 }, left: '0', needed: '1', unit: 'requests' } },
  ])
  t.equal(data.events.length, 1)
})

t.test('kill -9 of a process loses at most a hundredth of the day, and lets nobody in beyond it', async (t) => {
  const { service } = await withStage(t)
  const limit = 1_000
  const body = { scopes: ['wallets:read'], limits: [{ requests_per_day: limit }] }
  const made = await service.api.insist({ method: 'POST', path: '/v1/api-keys', key: 'kill', body })
  const { api_key: apiKey, key_id: keyId } = made.body.data
  const stage = await startVictimApi(t, service)
  const victim = createClient(stage.baseUrl, apiKey)
  let served = 0
  const used = async () => {
    if ((await victim.once({ path: '/v1/me' })).status === 200) served += 1
    // In the middle of a block, and of other requests.
    if (served === 234) stage.victim.kill()
  }
  await Promise.allSettled(Array.from({ length: 300 }, used))
  t.ok(await stage.victim.ended)
  const [taken = 0] = await takenOf(service.pool, keyId)
  t.ok(served <= taken, `${served} were served of ${taken}`)
  t.ok(taken <= 300, 'tens that the 300 requests began')
  const here = createClient(service.baseUrl, apiKey)
  const answers = await Promise.all(Array.from({ length: limit }, () => here.once({ path: '/v1/me' })))
  t.equal(answers.filter(({ status }) => status === 200).length, limit - taken, 'what nobody had taken')
  t.strictSame(await takenOf(service.pool, keyId), [limit])
})

t.end()
