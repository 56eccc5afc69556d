/** Webhooks from the request to the receiver: the API, every worker and a receiver that verifies the signatures. */
import t, { type Test } from 'tap'
import { matchExactly } from '../support/match-exactly.ts'
import { reorganise } from '../support/reorganise.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { type Stage, withStage } from '../support/service-stage.ts'
import { type Delivered, localWebhooks, type Receiver, withReceiver } from '../support/webhook-receiver.ts'

type Hook = { readonly webhook_id: string; readonly status: string; readonly disabled_reason: string | null }

async function withSender(t: Test) {
  const stage = await withStage(t, { env: await localWebhooks() })
  const receiver = await withReceiver(t)
  const create = async (path: string, terms: object = {}): Promise<Hook> => {
    const request = { method: 'POST', path: '/v1/webhooks', body: { url: receiver.urlOf(path), ...terms } }
    const { body } = await stage.service.api.insist(request)
    const { secret, ...hook } = (body as { data: Hook & { readonly secret: string } }).data
    receiver.verifyWith(path, secret)
    return hook
  }
  return { ...stage, receiver, create }
}

const at = ({ all }: Receiver, path: string): readonly Delivered[] => all.filter((one) => one.path === path)

/** The public events of the log, of the tenant, in the order of the feed. */
async function feedOf({ service }: Stage, query: string): Promise<{ readonly id: string; readonly type: string }[]> {
  const { body } = await service.api.insist({ method: 'GET', path: `/v1/events?limit=1000&${query}` })
  return (body as { data: { events: { id: string; type: string }[] } }).data.events
}

t.test('webhooks get what they want, signed, in the order of each resource, as the feed has it', async (t) => {
  const stage = await withSender(t)
  const { service, receiver, create, send, settle } = stage
  const [first, second] = await service.makeWallets(2)
  if (first === undefined || second === undefined) throw new Error('no wallets')
  await create('/all', { signatures: ['v1', 'v1a'] })
  await create('/thin', { payload: 'thin', types: ['transaction.confirmed'] })
  await create('/second', { wallet_ids: [second.id] })
  const ids = [await send(first, '0.1'), await send(second, '0.2'), await send(first, '0.3')]
  await settle()
  const isConfirmed = (path: string, count: number) => (all: readonly Delivered[]) =>
    all.filter((one) => one.path === path && one.event.type === 'transaction.confirmed').length === count
  await receiver.until(isConfirmed('/all', 3))
  await receiver.until(isConfirmed('/thin', 3))
  await receiver.until(isConfirmed('/second', 1))
  for (const id of ids) {
    const events = await feedOf(stage, `resource=${id}`)
    t.strictSame(
      at(receiver, '/all')
        .filter(({ event }) => event.resource.id === id)
        .map(({ event }) => event.id),
      events.map((event) => event.id),
    )
    t.strictSame(
      at(receiver, '/all').find(({ event }) => event.id === events[0]?.id)?.event,
      events[0],
      'the same bytes',
    )
  }
  t.match(at(receiver, '/all')[0]?.headers['webhook-signature'], /^v1,\S+ v1a,\S+$/)
  t.notOk(at(receiver, '/thin').some(({ event }) => 'data' in event || event.type !== 'transaction.confirmed'))
  const wallets = new Set(at(receiver, '/second').map(({ event }) => (event.data as { wallet_id: string }).wallet_id))
  t.strictSame([...wallets], [second.id])
  t.equal(new Set(at(receiver, '/all').map(({ event }) => event.id)).size, at(receiver, '/all').length, 'each once')

  const id = await send(first, '0.4')
  await stage.until(first, id, 'submitted')
  await stage.mine()
  await stage.until(first, id, 'mined')
  await reorganise(stage.url, { depth: 1, again: true })
  await settle()
  await receiver.until(isConfirmed('/all', 4))
  const told = at(receiver, '/all').flatMap(({ event }) => (event.resource.id === id ? [event] : []))
  const feed = await feedOf(stage, `resource=${id}`)
  t.strictSame(
    told.map((event) => event.id),
    feed.map((event) => event.id),
    'a reorg is reported in order',
  )
  // Whether it is submitted again depends on when the new block is seen.
  const afterwards = told.map(({ type }) => type).filter((type) => !/requested|signed|submitted$/.test(type))
  const states = ['mined', 'reorged', 'mined', 'confirmed']
  t.strictSame(
    afterwards,
    states.map((state) => `transaction.${state}`),
  )
})

t.test('a dead receiver with 10,000 deliveries holds up no other, and 410 disables with an event', async (t) => {
  const stage = await withSender(t)
  const { service, receiver, create, send, settle } = stage
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('no wallet')
  receiver.answer('/dead', null)
  receiver.answer('/gone', 410)
  const dead = await create('/dead', { types: ['transaction.requested'] })
  const gone = await create('/gone', { types: ['transaction.confirmed'] })
  await create('/healthy')
  const first = await send(wallet, '0.1')
  await receiver.until(() => at(receiver, '/dead').length > 0)
  const { rowCount } = await service.pool.query(
    `INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, replay_id, due_at, created_at)
     SELECT delivery_id || n, webhook_id, tenant_id, event_id, type, stream_id || n, transaction_id, position, part, 'r' || n, now(), now()
       FROM webhook_deliveries, generate_series(1, 10000) AS n WHERE webhook_id = $1`,
    [dead.webhook_id],
  )
  t.equal(rowCount, 10_000)
  const second = await send(wallet, '0.2')
  await settle()
  await receiver.until(() =>
    [first, second].every((id) =>
      at(receiver, '/healthy').some(({ event }) => event.resource.id === id && event.type === 'transaction.confirmed'),
    ),
  )
  t.ok(at(receiver, '/dead').length <= 8, 'the dead one has at most its 8 connections meanwhile')
  const disabled = await eventually(async () => {
    const { body } = await service.api.insist({ method: 'GET', path: `/v1/webhooks/${gone.webhook_id}` })
    const { data } = body as { data: Hook }
    return data.status === 'disabled' ? data : undefined
  })
  t.match(disabled, { disabled_reason: 'gone' })
  t.match((await feedOf(stage, `resource=${gone.webhook_id}`)).at(-1), { type: 'webhook.disabled' })
})

t.test('a delivery that is given up is an event of the feed, and reaches another receiver', async (t) => {
  const stage = await withSender(t)
  const { service, receiver, create, send } = stage
  const [wallet] = await service.makeWallets(1)
  if (wallet === undefined) throw new Error('no wallet')
  receiver.answer('/broken', 500)
  const broken = await create('/broken', { types: ['transaction.requested'] })
  await create('/watcher', { types: ['webhook.delivery_failed'] })
  const id = await send(wallet, '0.1')
  // The attempt is recorded when it holds back the next one.
  await eventually(async () => {
    const { rowCount } = await service.pool.query(
      `UPDATE webhook_deliveries SET attempts = 9, due_at = now() WHERE webhook_id = $1 AND attempts = 1 AND state = 'pending'`,
      [broken.webhook_id],
    )
    return rowCount === 1 || undefined
  })
  await service.pool.query('UPDATE webhook_health SET paused_until = NULL')
  await receiver.until((all) => all.some(({ path }) => path === '/watcher'))
  const events = await feedOf(stage, 'types=webhook.delivery_failed')
  matchExactly(t, events, [
    { data: { webhook_id: broken.webhook_id, event_id: `evt_transaction-${id}.1`, last_attempt: { status: 500 } } },
  ])
  t.equal(events.length, 1)
  t.strictSame(
    at(receiver, '/watcher').map(({ event }) => event),
    events,
  )
})
