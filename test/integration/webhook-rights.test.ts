/** Which keys may have a webhook send or sign something: those that may read it. */
import t from 'tap'
import { told } from '../support/client.ts'
import type { Answer } from '../support/http.ts'
import { as, HOOK, keysOf, withWebhooks } from '../support/webhook-stage.ts'

t.test('a key can only have sent what it may read itself', async (t) => {
  const stage = await withWebhooks(t)
  const key = as('webhooks')
  for (const body of [{ url: HOOK }, { url: HOOK, types: ['wallet.created', 'transaction.confirmed'] }]) {
    const answer = await stage.post('', body, key)
    t.strictSame([answer.status, ...told(answer)], [403, '- event_scope_missing'])
  }
  t.equal((await stage.post('', { url: HOOK, types: ['wallet.created'] }, key)).status, 201)
  t.equal((await stage.post('', { url: HOOK, payload: 'thin' }, key)).status, 201)
  const { webhook_id: id } = await stage.create()
  const moved = await stage.patch(`/${id}`, { url: 'https://example.com/mine' }, key)
  t.strictSame([moved.status, ...told(moved)], [403, '- event_scope_missing'], 'nor move a webhook that sends more')
  const reader = await stage.post('', { url: HOOK }, as('listener'))
  t.strictSame([reader.status, ...told(reader)], [403, '- insufficient_scope'])
})

t.test('a key makes a webhook send or sign only what it may read itself', async (t) => {
  const stage = await withWebhooks(t)
  const key = as('webhooks')
  const refused = [403, '- event_scope_missing']
  const outcomeOf = (answer: Answer) => [answer.status, ...told(answer)]
  const { webhook_id: id } = await stage.create()
  const delivery = async (type: string, n: number) => {
    const deliveryId = `dlv_01977b3e-6f7a-7c3e-9f5b-0f6c2f1d8a1${n}`
    await stage.pool.query(
      `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, payload, state, due_at, created_at)
       VALUES ($1, $2, 'acme', 'evt_' || $3, $3, $3, '5', $4, 0, 'full', 'failed', now(), now())`,
      [deliveryId, id, type, n],
    )
    return `/${id}/deliveries/${deliveryId}/retry`
  }
  const [ofTransaction, ofWallet] = [await delivery('transaction.mined', 1), await delivery('wallet.created', 2)]
  await stage.post(`/${id}/disable`)
  t.strictSame(outcomeOf(await stage.post(`/${id}/rotate-secret`, {}, key)), refused)
  t.strictSame(outcomeOf(await stage.post(`/${id}/enable`, undefined, key)), refused)
  t.strictSame(outcomeOf(await stage.post(`/${id}/replay`, {}, key)), refused)
  t.equal((await stage.post(`/${id}/replay`, { types: ['wallet.created'] }, key)).status, 202)
  t.strictSame(outcomeOf(await stage.post(ofTransaction, undefined, key)), refused)
  t.equal((await stage.post(ofWallet, undefined, key)).status, 200)
  t.equal((await keysOf(stage)({ webhookId: id, version: 1 })).secrets.length, 1)
  t.match((await stage.get(`/${id}`)).body.data, { status: 'disabled', gaps: 0 })

  const mine = { url: 'https://example.com/mine', types: ['wallet.created'] }
  t.strictSame(
    outcomeOf(await stage.patch(`/${id}`, mine, key)),
    refused,
    'what waits since before the change would be sent there too',
  )
  await stage.patch(`/${id}`, { types: ['wallet.created'] })
  t.strictSame(outcomeOf(await stage.patch(`/${id}`, { url: mine.url }, key)), refused, 'also after another change')
  t.strictSame(outcomeOf(await stage.post(`/${id}/enable`, undefined, key)), refused)
  t.strictSame(outcomeOf(await stage.post(`/${id}/replay`, { only_failed: true }, key)), refused)
  t.equal((await stage.post(`/${id}/replay`, {}, key)).status, 202)
  t.equal((await stage.post(`/${id}/rotate-secret`, {}, key)).status, 200)
  t.equal((await stage.patch(`/${id}`, { types: ['wallet.created', 'wallet.archived'] }, key)).status, 200)
  t.equal((await stage.patch(`/${id}`, { description: 'of the shop', url: HOOK }, key)).status, 200, 'it does not move')

  const { webhook_id: thin } = await stage.create({ payload: 'thin' })
  for (const [verb, body] of [['rotate-secret'], ['disable'], ['enable'], ['replay', {}], ['test']] as const)
    t.ok((await stage.post(`/${thin}/${verb}`, body, key)).status < 300, `${verb} of one without data`)
  t.equal((await stage.patch(`/${thin}`, { url: mine.url }, key)).status, 200)
})
