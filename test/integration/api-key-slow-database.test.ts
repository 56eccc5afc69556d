/** API keys where the database is slow, or its answers are lost: who is let in, how long, and what is left of a day. */
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts'
import { type KeyStage, withKeyStage } from '../support/key-stage.ts'

const ME = 'GET /v1/me'
const READER = { scopes: ['wallets:read'] }

async function withProxy(t: Test): Promise<KeyStage & { readonly proxy: DatabaseProxy; readonly slowUrl: string }> {
  const stage = await withKeyStage(t)
  const url = new URL(stage.urlAs('api'))
  const port = Number(url.port)
  const proxy = await startDatabaseProxy(() => port)
  t.after(proxy.close)
  Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) })
  return { ...stage, proxy, slowUrl: url.href }
}

t.test(
  'a process with a slow database lets no request in that begins a second after a revocation, and refuses none before',
  async (t) => {
    const { issue, startApi, proxy, slowUrl } = await withProxy(t)
    const [here, there] = [await startApi(), await startApi({ DATABASE_URL: slowUrl, DATABASE_POOL_SIZE: '40' })]
    const { token: admin } = await issue()
    const { data } = await here.send(admin, {
      to: 'POST /v1/api-keys',
      body: { ...READER, limits: [{ requests_per_day: 10_000 }, { transactions: 1, window_seconds: 3_600 }] },
    })
    const { key_id: keyId, api_key: token } = data
    t.equal((await there.send(token, { to: ME })).status, 200)
    proxy.decide = () => ({ lateMs: 1_700 })
    const requests: { beganMs: number; reply: Promise<{ status: number; code: string | undefined }> }[] = []
    let answeredMs = Number.POSITIVE_INFINITY
    const ask = () =>
      requests.push({ beganMs: performance.now(), reply: there.send(token, { to: 'GET /v1/wallets?limit=1' }) })
    const revoke = async () => {
      await pause(1_500)
      t.equal((await here.send(admin, { to: `DELETE /v1/api-keys/${keyId}` })).status, 200)
      answeredMs = performance.now()
    }
    const revoked = revoke()
    for (; performance.now() < answeredMs + 2_000; await pause(60)) ask()
    await revoked
    const replies = await Promise.all(
      requests.map(async ({ beganMs, reply }) => ({ lateMs: beganMs - answeredMs, ...(await reply) })),
    )
    const codes = new Set(replies.map(({ status, code }) => `${status} ${code ?? ''}`))
    t.strictSame([...codes].sort(), ['200 ', '401 api_key_invalid'])
    const last = Math.max(...replies.filter(({ status }) => status === 200).map(({ lateMs }) => lateMs))
    t.ok(last < 1_000, `the last one began ${Math.round(last)} ms after it`)
  },
)

t.test('answers that are lost take a hundredth of a day, and then no more than one each', async (t) => {
  const { issue, startApi, proxy, slowUrl } = await withProxy(t)
  const api = await startApi({ DATABASE_URL: slowUrl })
  const { token: admin } = await issue()
  const body = { ...READER, limits: [{ requests_per_day: 10_000 }] }
  const { api_key: token, key_id: keyId } = (await api.send(admin, { to: 'POST /v1/api-keys', body })).data
  proxy.decide = (text) => (text.includes('take_requests') ? 'cut after' : 'pass')
  for (let n = 0; n < 120; n += 1) t.equal((await api.send(token, { to: ME })).code, 'database_unavailable')
  t.equal(proxy.struck.get('cut after'), 120)
  proxy.decide = () => 'pass'
  t.equal((await api.send(token, { to: ME })).status, 200)
  const { limits } = (await api.send(admin, { to: `GET /v1/api-keys/${keyId}` })).data
  t.strictSame(
    limits.map(({ left }: { left: string }) => left),
    [`${10_000 - 100 - 120}`],
  )
})
