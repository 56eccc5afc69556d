/** Webhooks from the request to the receiver: the API, every worker and a receiver that verifies the signatures. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createIdentity } from '../../src/keys/age.ts'
import { type Stage, withStage } from '../support/service-stage.ts'
import { type Delivered, type Receiver, withReceiver } from '../support/webhook-receiver.ts'

type Hook = { readonly webhook_id: string; readonly status: string; readonly disabled_reason: string | null }

async function withSender(t: Test) {
  const { identity, recipient } = await createIdentity()
  const env = {
    WEBHOOK_RECIPIENT: recipient,
    WEBHOOK_IDENTITY: identity,
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  }
  const stage = await withStage(t, { env })
  const receiver = await withReceiver(t)
  const create = async (path: string, terms: object = {}): Promise<Hook> => {
    const request = { method: 'POST', path: '/v1/webhooks', key: randomBytes(8).toString('hex') } as const
    const { body } = await stage.service.api.insist({ ...request, body: { url: receiver.urlOf(path), ...terms } })
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
})
