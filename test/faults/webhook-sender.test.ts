/** A sender that dies after a receiver has answered, and before that is recorded. */
import t from 'tap'
import { eventually } from '../support/sandbox-eventually.ts'
import { prepareVictim } from '../support/victims.ts'
import { withWebhookSender } from '../support/webhook-sender-stage.ts'

t.test(
  'a sender that is killed between the answers and their record is followed by one that sends the same again',
  async (t) => {
    const stage = await withWebhookSender(t)
    await stage.hook('/', { types: ['wallet.requested', 'wallet.created'] })
    const first = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
    t.after(() => first.kill())
    await first.start()
    await first.arm({ moment: 'before', step: 'record attempts' }).armed
    for (let n = 0; n < 4; n += 1) await stage.wallet()
    t.ok(await first.ended, 'it was killed')
    const sent = [...stage.receiver.all]
    t.ok(sent.length > 0)
    const { rows } = await stage.pool.query('SELECT FROM webhook_deliveries WHERE attempts > 0')
    t.equal(rows.length, 0, 'nothing was recorded')

    const second = prepareVictim('webhook-sender', { ...stage.env, LEASE_MS: '1500' })
    t.after(() => second.kill())
    await second.start()
    await eventually(async () => {
      const { rowCount } = await stage.pool.query(`SELECT FROM webhook_deliveries WHERE state = 'delivered'`)
      return rowCount === 8
    })
    const again = stage.receiver.all.slice(sent.length)
    t.equal(again.length, 8, 'each once by the second')
    for (const { headers, body } of sent) {
      const same = again.find((one) => one.headers['webhook-id'] === headers['webhook-id'])
      t.equal(same?.body, body, 'with the same id and the same bytes')
    }
    for (const id of new Set(again.map(({ event }) => event.resource.id)))
      t.strictSame(
        again.filter(({ event }) => event.resource.id === id).map(({ event }) => event.type),
        ['wallet.requested', 'wallet.created'],
        'in order',
      )
  },
)

t.end()
