/** `webhooks listen` prints genuine deliveries, and refuses the others as a receiver should. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import t from 'tap'
import { freePort } from '../../src/sandbox/ports.ts'
import { listenCommand } from '../../src/webhooks/listen-command.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { runCommandLine } from '../support/cli.ts'
import { HOSTILE, unprintableIn } from '../support/hostile-text.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const SECRET = randomBytes(32)
const EVENT = { id: 'evt_wallet-wal_1.2', type: 'wallet.created', timestamp: '2026-11-23T12:00:00.000Z' }
const BODY = JSON.stringify(EVENT)
const NOW = Date.parse('2026-11-23T12:00:05.000Z')
const signed = (at: number, secret = SECRET) => ({
  ...signDelivery({ secrets: [secret], ed25519: [] }, EVENT.id, at, BODY),
})

t.test('a delivery is verified, and a forged, changed, late or unsigned one is refused', async (t) => {
  const stop = new AbortController()
  const untilStopped = async () => void (await once(stop.signal, 'abort'))
  const command = listenCommand({ untilStopped, clock: () => NOW })
  const port = await freePort()
  const running = runCommandLine(
    [command],
    `webhooks listen --json --port ${port} --secret whsec_${SECRET.toString('base64')}`,
  )
  const post = async (headers: Readonly<Record<string, string>>, body = BODY) =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status
  t.equal(await eventually(() => post(signed(NOW))), 204)
  const both = { ...signed(NOW), 'webhook-signature': `v1,AAAA v1a,BBBB ${signed(NOW)['webhook-signature']}` }
  t.equal(await post(both), 204, 'one of several signatures is enough')
  t.equal(await post(signed(NOW, randomBytes(32))), 401)
  t.equal(await post(signed(NOW), BODY.replace('created', 'updated')), 401)
  t.equal(await post(signed(NOW - 301_000)), 401)
  t.equal(await post({ ...signed(NOW), 'webhook-timestamp': 'now' }), 401)
  t.equal(await post({}), 401)
  stop.abort()
  const { code, out, err } = await running
  t.match(err, `listening on http://127.0.0.1:${port}/`)
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const genuine = { verified: true, refused_because: null, event: EVENT }
  t.strictSame([code, lines.slice(0, 2)], [0, [genuine, genuine]])
  matchExactly(
    t,
    lines.slice(2).map((line) => line.refused_because),
    [/matches/, /matches/, /5 minutes/, /5 minutes/, /is missing/],
  )
})

t.test('without a secret it prints the request that creates a webhook', async (t) => {
  const command = listenCommand({ untilStopped: async () => undefined, clock: () => NOW })
  const { code, err } = await runCommandLine([command], 'webhooks listen --port 9100')
  matchExactly(t, [code, err], [2, /^--secret is missing: create a webhook .*"url":"http:\/\/127\.0\.0\.1:9100\/"/])
  t.match(await runCommandLine([command], 'webhooks listen --secret whsec_short'), {
    code: 2,
    err: /must be whsec_ and base64/,
  })
  t.match(await runCommandLine([command], 'webhooks listen --port 70000'), { code: 2, err: /--port must be a number/ })
})

t.test('the text of an event controls no terminal, and none of it is left out', async (t) => {
  const stop = new AbortController()
  const command = listenCommand({ untilStopped: async () => void (await once(stop.signal, 'abort')), clock: () => NOW })
  const port = await freePort()
  const secret = `whsec_${SECRET.toString('base64')}`
  const running = runCommandLine([command], `webhooks listen --port ${port} --secret ${secret}`)
  const event = { id: EVENT.id, type: `${EVENT.type}${HOSTILE}`, timestamp: HOSTILE, data: { [HOSTILE]: HOSTILE } }
  const body = JSON.stringify(event)
  const headers = signDelivery({ secrets: [SECRET], ed25519: [] }, EVENT.id, NOW, body)
  const post = async () => (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status
  t.equal(await eventually(post), 204)
  stop.abort()
  const { out } = await running
  t.equal(unprintableIn(out), null)
  const [head = '', ...json] = out.split('\n')
  t.match(head, /^verified {2}/)
  t.strictSame(JSON.parse(json.join('\n')), event)
})
