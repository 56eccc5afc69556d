/** What one receiver refuses, or answers late, delays nothing but itself: senders and receivers over HTTP. */

import t from 'tap'
import { reviseWallet } from '../../src/wallets/routes.ts'
import { judgeWebhooks } from '../../src/webhooks/judge-webhooks.ts'
import { readWebhooksNow } from '../../src/webhooks/webhooks-now.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { ACME } from '../support/wallet-parts.ts'
import type { Delivered } from '../support/webhook-receiver.ts'
import { type SenderStage, withWebhookSender } from '../support/webhook-sender-stage.ts'

/** A receiver far away answers after this time: 250 deliveries take longer than the half second after which a round ends. */
const ROUND_TRIP_MS = 40

const isOf = (type: string) => (one: Delivered) => one.event.type === type
const countOf = ({ receiver }: SenderStage, type: string) => receiver.all.filter(isOf(type)).length

type Row = { readonly delivery_id: string; readonly event_id: string; readonly attempts: number }

/** Those that were attempted so often at least. */
async function attempted({ pool }: SenderStage, attempts = 1, state = 'pending'): Promise<readonly Row[]> {
  const { rows } = await pool.query<Row>(
    'SELECT delivery_id, event_id, attempts FROM webhook_deliveries WHERE attempts >= $1 AND state = $2 ORDER BY delivery_id',
    [attempts, state],
  )
  return rows
}

t.test('a receiver that refuses one type of event gets all others, and a test', async (t) => {
  const stage = await withWebhookSender(t)
  const known = await stage.wallet()
  const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created', 'wallet.updated', 'webhook.test'] })
  stage.receiver.answer('/', ({ event }) => (event.type === 'wallet.created' ? 400 : 204))
  await stage.startSender()
  for (let n = 0; n < 20; n += 1) await stage.wallet()
  // It has refused all that it was sent: what follows is of other types.
  await stage.receiver.until(() => countOf(stage, 'wallet.created') >= 8)
  for (let n = 0; n < 3; n += 1) await reviseWallet(stage, known, { label: `label ${n}` }, { metadata: ACME })
  await stage.post(`/${id}/test`)
  await stage.receiver.until(() => countOf(stage, 'wallet.updated') === 3 && countOf(stage, 'webhook.test') === 1)
  const labels = stage.receiver.all.filter(isOf('wallet.updated')).map(({ event }) => event.resource.version)
  t.strictSame(labels, [...labels].sort(), 'in order')
  const created = () => stage.receiver.all.filter(isOf('wallet.created')).map(({ event }) => event.id)
  await stage.receiver.until(() => new Set(created()).size === 20)
  t.pass('each of the others is sent then')
  t.match((await stage.get(`/${id}`)).body.data, { failing_since: null, paused_until: null })
})

t.test('a delivery that is named is sent at once, while its webhook pauses, and no other', async (t) => {
  const stage = await withWebhookSender(t)
  const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created'] })
  stage.receiver.answer('/', 503)
  for (let n = 0; n < 12; n += 1) await stage.wallet()
  await stage.startSender()
  const health = async () => (await stage.get(`/${id}`)).body.data as { readonly paused_until: string | null }
  await eventually(async () => (await health()).paused_until !== null && (await attempted(stage)).length >= 8)
  await stage.pool.query(`UPDATE webhook_health SET paused_until = now() + interval '1 hour'`)
  await stage.pool.query(`UPDATE webhook_deliveries SET due_at = now() WHERE attempts > 0`)
  const before = stage.receiver.all.length
  const named = (await attempted(stage))[5]
  await stage.post(`/${id}/deliveries/${named?.delivery_id}/retry`)
  await stage.receiver.until((all) => all.length > before)
  t.equal(stage.receiver.all.at(-1)?.event.id, named?.event_id)
  await eventually(async () => (await attempted(stage, 2)).length === 1)
  t.equal(stage.receiver.all.length, before + 1)
  t.not((await health()).paused_until, null, 'it failed again, and the webhook still pauses')
  stage.receiver.answer('/', 204)
  await stage.post(`/${id}/deliveries/${named?.delivery_id}/retry`)
  await eventually(async () => (await attempted(stage, 0, 'delivered')).length === 12)
  t.equal(stage.receiver.all[before + 1]?.event.id, named?.event_id, 'its success ends the pause')
})

t.test('a receiver that refuses everything is sent less and less, and stuck says why', async (t) => {
  const stage = await withWebhookSender(t)
  const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created', 'wallet.requested', 'webhook.test'] })
  stage.receiver.answer('/', ({ event }) => (event.type === 'webhook.test' ? 204 : 404))
  for (let n = 0; n < 8; n += 1) await stage.wallet()
  await stage.startSender()
  const paused = () =>
    eventually(async () => {
      const { rows } = await stage.pool.query('SELECT failures FROM webhook_health WHERE paused_until > now()')
      return rows[0]?.failures as number | undefined
    })
  t.equal(await paused(), 1)
  await stage.pool.query(
    `UPDATE webhook_health SET failing_since = now() - interval '1 hour', paused_until = now() + interval '1 hour'`,
  )
  const { webhooks } = await readWebhooksNow(stage.pool)
  matchExactly(t, judgeWebhooks(webhooks, { limits: { workMs: 60_000 }, senders: 1 }), [
    { kind: 'webhook_failing', subject: id, problem: /refuses every event: .* answered with 404/ },
  ])
  const before = stage.receiver.all.length
  await stage.wallet()
  await stage.post(`/${id}/test`)
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length >= 1)
  t.equal(stage.receiver.all[before]?.event.type, 'webhook.test', 'a test is sent at once')
  await stage.receiver.until((all) => all.length > before + 1)
  t.match((await stage.get(`/${id}`)).body.data, { failing_since: null }, 'its success ends the pause')
})

t.test('a live event is sent while the replays of its webhook get no answer', async (t) => {
  const stage = await withWebhookSender(t)
  const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created', 'webhook.created'] })
  let answer: (status: number) => void = () => undefined
  const later = new Promise<number>((resolve) => {
    answer = resolve
  })
  stage.receiver.answer('/', ({ event }) => (event.type === 'webhook.created' ? later : 204))
  await stage.addDeliveries(id, 2_000, { replayId: 'rpl_1' })
  await stage.startSender()
  await stage.receiver.until((all) => all.length > 0)
  for (let n = 0; n < 3; n += 1) await stage.wallet()
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length === 3)
  t.equal(stage.receiver.all.filter(isOf('wallet.created')).length, 3)
  t.ok(countOf(stage, 'webhook.created') <= 4, 'replays have connections of their own')
  answer(204)
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length === 2_003)
})

t.test('slow receivers of two tenants do not delay those of others', async (t) => {
  const stage = await withWebhookSender(t)
  const slow = await stage.hook('/slow')
  const quick = await stage.hook('/quick')
  stage.receiver.answer('/slow', null)
  await stage.addCopies(slow.webhook_id, 90, ['slow-1', 'slow-2'])
  const at = (path: string) => stage.receiver.all.filter((one) => one.path === path)
  await stage.startSender()
  await stage.receiver.until(() => at('/slow').length >= 56)
  await stage.addDeliveries(quick.webhook_id, 1)
  await stage.receiver.until(() => at('/quick').length === 1)
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length === 1)
  t.strictSame(await attempted(stage), [], 'before a slow receiver has answered')
  await stage.receiver.until(() => at('/slow').length >= 90)
  t.strictSame(await attempted(stage), [], 'and each slow one was tried meanwhile')
})

t.test('two senders share the webhooks, and each delivery is sent once', async (t) => {
  const stage = await withWebhookSender(t)
  const { webhook_id: id } = await stage.hook('/', { types: ['wallet.created'] })
  await stage.startSender('first')
  await stage.startSender('second')
  let answer: (status: number) => void = () => undefined
  const later = new Promise<number>((resolve) => {
    answer = resolve
  })
  stage.receiver.answer('/', () => later)
  await stage.addCopies(id, 60, ['one', 'two', 'three'])
  await stage.receiver.until((all) => all.length === 60)
  const { rows } = await stage.pool.query(
    `SELECT holder, count(*)::integer AS held FROM leases WHERE name LIKE 'webhook-whk%' GROUP BY holder ORDER BY holder`,
  )
  matchExactly(t, rows, [{ holder: /first/ }, { holder: /second/ }])
  answer(204)
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length === 60)
  t.equal(stage.receiver.all.length, 60)
})

t.test('an event that is not answered holds back its resource alone', async (t) => {
  const stage = await withWebhookSender(t)
  const { webhook_id: id } = await stage.hook('/', { types: ['webhook.test'] })
  let isFirst = true
  let answer: (status: number) => void = () => undefined
  const later = new Promise<number>((resolve) => {
    answer = resolve
  })
  stage.receiver.answer('/', async () => {
    if (isFirst) {
      isFirst = false
      return later
    }
    await new Promise((resolve) => setTimeout(resolve, ROUND_TRIP_MS))
    return 204
  })
  await stage.addDeliveries(id, 250)
  await stage.startSender()
  await stage.receiver.until((all) => all.length === 250)
  answer(204)
  await eventually(async () => (await attempted(stage, 1, 'delivered')).length === 250)
  t.strictSame(await attempted(stage, 2, 'delivered'), [], 'each was attempted once')
})
