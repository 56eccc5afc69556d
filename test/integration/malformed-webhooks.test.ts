/**
 * An attacker with the database login of the API appends webhooks with rows that nobody can read, and deliveries of
 * webhooks that no queue accepts: the webhooks of every tenant go on.
 */
import t from 'tap'
import { loginAs } from '../support/database-login.ts'
import { appendRaw, rawEvent } from '../support/raw-events.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { withStage } from '../support/service-stage.ts'
import { localWebhooks, withReceiver } from '../support/webhook-receiver.ts'

const LONG_AGO = '2026-01-01T00:00:00.000Z'
const ROW = {
  tenant_id: 'acme',
  environment: 'mainnet',
  url: 'https://example.com/hook',
  payload: 'full',
  signatures: ['v1'],
  secrets: [],
  types: null,
  wallet_ids: null,
  status: 'enabled',
  created_at: LONG_AGO,
  updated_at: LONG_AGO,
  version: 1,
}
const MALFORMED = [
  { webhook_id: 'whk_types', types: 5 },
  { webhook_id: 'whk_wallets', wallet_ids: { length: 1 } },
  { webhook_id: 'whk_of_text', types: 'transaction.confirmed' },
  { webhook_id: 'whk with spaces' },
]
const DELIVERY = `INSERT INTO webhook_deliveries
  (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, due_at, created_at)
  VALUES ('whd_1', $1, 'acme', 'evt_x.1', 'x', 'x', '1', 1, 0, $2, $2)`

t.test('webhooks that nobody can read hold up no other', async (t) => {
  const stage = await withStage(t, { env: await localWebhooks() })
  const { service } = stage
  const receiver = await withReceiver(t)
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('no wallet')
  const api = await loginAs(t, { pool: service.pool, url: service.places.database_url }, 'api')
  for (const changed of MALFORMED) {
    const event = { streamId: `webhook-${changed.webhook_id}`, type: 'WebhookCreated' }
    await appendRaw(api, [rawEvent(event)], { webhooks: [{ ...ROW, ...changed }] })
    await api.query(DELIVERY, [changed.webhook_id, LONG_AGO])
  }
  const request = { method: 'POST', path: '/v1/webhooks', body: { url: receiver.urlOf('/good') } }
  const { body } = await service.api.insist(request)
  receiver.verifyWith('/good', (body as { data: { secret: string } }).data.secret)
  await stage.until(wallet, await stage.send(wallet, '1'), 'submitted')
  await receiver.until((all) => all.some(({ event }) => event.type === 'transaction.submitted'))
  await eventually(() => service.lines.some(({ queue, id }) => queue === 'webhook' && id === 'whk with spaces'))
  t.notOk(
    service.lines.some(({ message }) => /cannot queue a job for webhook senders/.test(String(message))),
    'a job that no queue accepts is left out',
  )
})
