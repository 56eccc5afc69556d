/** A webhook of a stage for the events of transactions, and a receiver that compares what arrives with the event feed. */
import type { Test } from 'tap'
import { publishedTransactions } from '../../src/transactions/published.ts'
import { accepted, type Client } from './client.ts'
import { eventually } from './sandbox-eventually.ts'
import { type Delivered, withReceiver } from './webhook-receiver.ts'

type Told = Pick<Delivered['event'], 'id' | 'resource'>

export type PointsWebhook = {
  /** Waits until every event of the feed has arrived. */
  readonly untilReceived: () => Promise<void>
  /** What arrived in another order than the feed has, for each resource. Call when everything has arrived. */
  readonly audit: () => string[]
}

const PATH = '/hook'
const TYPES = Object.keys(publishedTransactions().types)

export async function createPointsWebhook(t: Test, api: Client): Promise<PointsWebhook> {
  const receiver = await withReceiver(t)
  const body = { url: receiver.urlOf(PATH), types: TYPES }
  const { secret } = accepted(await api.insist({ method: 'POST', path: '/v1/webhooks', key: 'webhook', body }))
  receiver.verifyWith(PATH, secret)
  const expected: Told[] = []
  let after = ''

  async function readFeed(): Promise<void> {
    const path = `/v1/events?limit=1000&types=${TYPES.join(',')}${after}`
    const { events, next_after: next, has_more: hasMore } = accepted(await api.insist({ path }))
    expected.push(...events)
    if (next !== null) after = `&after=${next}`
    if (hasMore) await readFeed()
  }

  return {
    async untilReceived() {
      await readFeed()
      await eventually(() => {
        const received = new Set(receiver.all.map(({ event }) => event.id))
        return expected.every(({ id }) => received.has(id))
      })
    },
    audit() {
      const received = byResource(receiver.all.map(({ event }) => event))
      return [...byResource(expected)].flatMap(([resource, ids]) => {
        const got = [...(received.get(resource) ?? [])]
        return got.join() === [...ids].join() ? [] : [`the webhook got ${got} of ${resource} instead of ${[...ids]}`]
      })
    },
  }
}

/** Each id once, in the order of its first arrival: a delivery may be repeated. */
function byResource(events: readonly Told[]): Map<string, Set<string>> {
  const ids = new Map<string, Set<string>>()
  for (const { id, resource } of events) ids.set(resource.id, (ids.get(resource.id) ?? new Set()).add(id))
  return ids
}
