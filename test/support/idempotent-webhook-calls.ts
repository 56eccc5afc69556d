/** Calls of the routes of webhooks that take an `Idempotency-Key`. */
import type { Client } from './client.ts'
import { calls, type RouteCase } from './route-calls.ts'
import { eventually } from './sandbox-eventually.ts'

const NO_WEBHOOK = '/v1/webhooks/whk_00000000000000000000000000'

export function webhookCases(client: Client): Readonly<Record<string, RouteCase>> {
  const url = (name: string) => ({ url: `https://example.com/${name}` })
  const created = async (): Promise<string> => (await client.post('/v1/webhooks', url('existing'))).body.data.webhook_id
  const switching = (action: string): RouteCase => {
    return async () => ({
      id: 'webhook_id',
      good: { path: `/v1/webhooks/${await created()}/${action}` },
      bad: { path: `${NO_WEBHOOK}/${action}` },
      other: { path: `/v1/webhooks/${await created()}/${action}` },
    })
  }
  return {
    'POST /v1/webhooks': async () =>
      calls('webhook_id', '/v1/webhooks', { good: url('one'), bad: { url: 'http://10.0.0.1/' }, other: url('two') }),
    'POST /v1/webhooks/{webhook_id}/replay': async () =>
      calls('replay_id', `/v1/webhooks/${await created()}/replay`, {
        good: { from: '2026-01-01T00:00:00Z' },
        bad: { after: 'evt_nothing.1' },
        other: { only_failed: true },
      }),
    'POST /v1/webhooks/{webhook_id}/test': async (t) => ({ ...(await switching('test')(t)), id: 'event_id' }),
    'POST /v1/webhooks/{webhook_id}/enable': switching('enable'),
    'POST /v1/webhooks/{webhook_id}/disable': switching('disable'),
    'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry': async () => {
      const path = `/v1/webhooks/${await created()}`
      const retry = async () => ({ path: `${path}/deliveries/${await newDelivery(client, path)}/retry` })
      const [good, other] = [await retry(), await retry()]
      return { id: 'delivery_id', good, bad: { path: `${path}/deliveries/dlv_nothing/retry` }, other }
    },
    'POST /v1/webhooks/{webhook_id}/rotate-secret': async () => ({
      id: 'webhook_id',
      good: { path: `/v1/webhooks/${await created()}/rotate-secret`, body: { overlap_hours: 1 } },
      bad: { path: `/v1/webhooks/${await created()}/rotate-secret`, body: { overlap_hours: 169 } },
      other: { path: `/v1/webhooks/${await created()}/rotate-secret`, body: { overlap_hours: 2 } },
    }),
  }
}

/** The id of the delivery of a new test. */
async function newDelivery(client: Client, path: string): Promise<string> {
  const { event_id } = (await client.post(`${path}/test`)).body.data
  return eventually(async () => {
    const { body } = await client.get(`${path}/deliveries`)
    const found = body.data.deliveries.find((delivery: { event_id: string }) => delivery.event_id === event_id)
    return found?.delivery_id as string | undefined
  })
}
