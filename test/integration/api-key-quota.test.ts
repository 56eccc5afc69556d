/** How many live API keys a tenant may have: what counts, what is refused, and what is not. */
import t from 'tap'
import { withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'

const KEYS = 'POST /v1/api-keys'
const body = { scopes: ['wallets:read'] }

t.test('a tenant has no more live keys than its quota, and gets room by revoking', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const api = await startApi({ QUOTA_API_KEYS: '5' })
  const { token } = await issue()
  await issue({ environment: 'testnet' })
  const ask = (n: number) => api.send(token, { to: KEYS, body, once: `key-${n}` })
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)))
  const made = answers.filter(({ status }) => status === 201)
  t.equal(made.length, 3, 'besides the two of the operator')
  const recorded = async () => (await pool.query("SELECT FROM events WHERE type = 'ApiKeyIssued'")).rowCount
  t.equal(await recorded(), 5)
  const refused = answers.find(({ status }) => status !== 201)
  matchExactly(t, refused, {
    status: 429,
    headers: { 'ratelimit-limit': '5', 'ratelimit-remaining': '0', 'retry-after': undefined },
    body: {
      errors: [
        {
          type: 'rate_limit_error',
          code: 'quota_api_keys',
          message:
            /^The tenant has reached its quota of 5 API keys that are neither revoked nor expired\. Revoke one, or /,
          details: { quota: 'api_keys', setting: 'QUOTA_API_KEYS', limit: 5, used: 5, remaining: 0 },
        },
      ],
    },
  })
  const [first] = answers.flatMap(({ status }, n) => (status === 201 ? [n] : []))
  t.match(
    await ask(first ?? -1),
    { status: 201, headers: { 'idempotency-replayed': 'true' } },
    'a repetition adds none',
  )

  const rotate = (overlap_seconds: number) =>
    api.send(token, { to: `POST /v1/api-keys/${made[0]?.data.key_id}/rotate`, body: { overlap_seconds } })
  t.equal((await rotate(60)).code, 'quota_api_keys', 'both would live')
  t.equal((await rotate(0)).status, 201)
  await issue()
  t.equal(await recorded(), 7, 'an operator is not refused')
  const { token: stranger } = await issue({ tenantId: 'globex' })
  t.equal((await api.send(stranger, { to: KEYS, body })).status, 201, 'another tenant has its own quota')

  for (const { data } of made.slice(1)) await api.send(token, { to: `DELETE /v1/api-keys/${data.key_id}` })
  let code: string | undefined = 'quota_api_keys'
  while (code === 'quota_api_keys') code = (await api.send(token, { to: KEYS, body })).code
  t.equal(code, undefined, 'a revoked one makes room')
  const { data } = await api.send(token, { to: 'GET /v1/quotas' })
  t.match(
    data.quotas.find(({ quota }: { quota: string }) => quota === 'api_keys'),
    { limit: 5, used: 5, remaining: 0 },
  )
})

t.test('a key that has expired does not count, before that is recorded', async (t) => {
  const { issue, startApi, pool } = await withKeyStage(t)
  const api = await startApi({ QUOTA_API_KEYS: '3' })
  const { token } = await issue()
  const old = await issue()
  await api.send(token, { to: `POST /v1/api-keys/${old.keyId}/rotate`, body: { overlap_seconds: 0 } })
  const { rows } = await pool.query("SELECT count(*)::int AS n FROM api_keys WHERE status = 'active'")
  t.strictSame(rows, [{ n: 3 }])
  t.equal((await api.send(token, { to: KEYS, body })).status, 201)
  t.equal((await api.send(token, { to: KEYS, body })).code, 'quota_api_keys')
})
