/** API keys whose only answer is lost: an API process is killed beside the append, and its client repeats the request. */
import t, { type Test } from 'tap'
import type { ApiRequest } from '../support/client.ts'
import { type KeyStage, withKeyStage } from '../support/key-stage.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { startVictimApi } from '../support/victims.ts'

const ONCE = 'the-same'
const ROTATES = 'append ApiKeyIssued+ApiKeyRotated'

/** Sends a request to a process that is killed at its append. */
async function loseAnswer(t: Test, stage: KeyStage, apiKey: string, request: ApiRequest, place: Place): Promise<void> {
  const { api, victim } = await startVictimApi(t, { ...stage, apiKey })
  await victim.arm(place).armed
  await t.rejects(api.once(request), { code: 'ECONNRESET' })
  t.equal(await victim.ended, true, 'killed at its append')
}

type Place = { readonly moment: 'before' | 'after'; readonly step: string }

t.test('a key whose answer was lost is shown without its secret, is there once, and gets another secret', async (t) => {
  const stage = await withKeyStage(t)
  const { keyId: admin, token } = await stage.issue()
  const body = { label: 'shop', scopes: ['wallets:read'] }
  const request = { method: 'POST', path: '/v1/api-keys', key: ONCE, body } as const
  await loseAnswer(t, stage, token, request, { moment: 'after', step: 'append ApiKeyIssued' })
  const api = await stage.startApi()
  const repeat = () => api.send(token, { to: 'POST /v1/api-keys', body, once: ONCE })
  const repeated = await repeat()
  matchExactly(t, repeated, {
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
    data: { label: 'shop', api_key: null, warnings: [{ code: 'api_key_already_returned' }] },
  })
  t.strictSame((await repeat()).data, repeated.data)
  const made = async () =>
    (await api.send(token, { to: `GET /v1/api-keys?issued_by=${admin}` })).data.api_keys.map(
      ({ key_id }: { key_id: string }) => key_id,
    )
  t.strictSame(await made(), [repeated.data.key_id])
  const to = `POST /v1/api-keys/${repeated.data.key_id}/rotate`
  const { data: next } = await api.send(token, { to, body: { overlap_seconds: 0 } })
  t.match((await api.send(next.api_key, { to: 'GET /v1/me' })).data, {
    label: 'shop',
    rotated_from: repeated.data.key_id,
  })
})

t.test('a key whose process is killed before the append is made by the repetition', async (t) => {
  const stage = await withKeyStage(t)
  const { token } = await stage.issue()
  const body = { scopes: ['wallets:read'] }
  const request = { method: 'POST', path: '/v1/api-keys', key: ONCE, body } as const
  await loseAnswer(t, stage, token, request, { moment: 'before', step: 'append ApiKeyIssued' })
  const api = await stage.startApi()
  const { status, data } = await api.send(token, { to: 'POST /v1/api-keys', body, once: ONCE })
  t.equal(status, 201)
  t.equal((await api.send(data.api_key, { to: 'GET /v1/me' })).status, 200)
  t.equal((await stage.pool.query("SELECT FROM events WHERE type = 'ApiKeyIssued'")).rowCount, 2)
})

t.test('a rotation whose answer was lost is there once, and both keys go on', async (t) => {
  const stage = await withKeyStage(t)
  const { token: admin } = await stage.issue()
  const old = await stage.issue({ scopes: ['wallets:read'] })
  const path = `/v1/api-keys/${old.keyId}/rotate`
  const body = { overlap_seconds: 3_600 }
  await loseAnswer(t, stage, admin, { method: 'POST', path, key: ONCE, body }, { moment: 'after', step: ROTATES })
  const api = await stage.startApi()
  const repeated = await api.send(admin, { to: `POST ${path}`, body, once: ONCE })
  matchExactly(t, repeated, {
    status: 201,
    headers: { 'idempotency-replayed': 'true' },
    data: { rotated_from: old.keyId, api_key: null, warnings: [{ code: 'api_key_already_returned' }] },
  })
  t.match((await api.send(old.token, { to: 'GET /v1/me' })).data, {
    rotated_to: repeated.data.key_id,
    status: 'active',
  })
  t.match(await api.send(admin, { to: `POST ${path}`, body }), { status: 409, code: 'api_key_rotated' })
  const { rows } = await stage.pool.query('SELECT key_id FROM api_keys WHERE rotated_from = $1', [old.keyId])
  t.strictSame(rows, [{ key_id: repeated.data.key_id }])
  const to = `POST /v1/api-keys/${repeated.data.key_id}/rotate`
  const { data: next } = await api.send(admin, { to, body: { overlap_seconds: 0 } })
  t.match(await api.send(next.api_key, { to: 'GET /v1/me' }), { status: 200 }, 'the lost secret is replaced in turn')
})

t.end()
