/**
 * Sends what is due to one webhook. Any number of senders may run: the lease of the webhook belongs to one of them.
 *
 * At least once: a sender that dies between a response and its record sends the same event with the same id again.
 */
import type { Leases } from '../event-log/leases.ts'
import type { Attempt, Deliveries, Pending } from './deliveries.ts'
import type { DisableReason, Payload } from './events.ts'
import type { Post, Posted } from './post.ts'
import { type SigningKeys, signDelivery } from './signature.ts'

/** Deliveries of a round; their requests run at once, over the connections of the receiver. */
const ROUND = 32
/** After this time without one success a webhook is disabled. */
const FAILING_MS = 5 * 24 * 60 * 60_000

export type Receiver = {
  readonly webhookId: string
  readonly url: string
  readonly payload: Payload
  readonly pausedUntil: Date | null
}

export type DrainPorts = {
  readonly leases: Leases
  readonly deliveries: Deliveries
  /** `null` for a webhook that is disabled or deleted. */
  readonly receiverOf: (webhookId: string) => Promise<Receiver | null>
  readonly keysOf: (webhookId: string) => Promise<SigningKeys>
  /** The bodies of public events, as they were at their time: the same bytes for each attempt. */
  readonly bodiesOf: (eventIds: readonly string[], payload: Payload) => Promise<ReadonlyMap<string, string>>
  readonly post: Post
  readonly disable: (webhookId: string, reason: DisableReason) => Promise<void>
  readonly clock: () => number
}

/** @throws Unavailable when the database does not answer: the job is retried */
export type DrainWebhook = (webhookId: string) => Promise<void>

export function createDrainWebhook(ports: DrainPorts): DrainWebhook {
  return async (webhookId) => {
    const lease = await ports.leases.acquire(`webhook-${webhookId}`)
    if (lease === null) return // Another sender holds the webhook, and has been notified of more work.
    try {
      do {
        let isMore = true
        while (isMore && (await lease.renew())) isMore = await sendRound(ports, webhookId)
      } while ((await lease.release()) === 'wanted')
    } catch (error) {
      await lease.release({ force: true })
      throw error
    }
  }
}

/** @returns whether more may be due */
async function sendRound(ports: DrainPorts, webhookId: string): Promise<boolean> {
  const { deliveries, clock } = ports
  const receiver = await ports.receiverOf(webhookId)
  if (receiver === null || (receiver.pausedUntil !== null && receiver.pausedUntil.getTime() > clock())) return false
  const due = await deliveries.next(webhookId, ROUND)
  if (due.length === 0) return false
  const attempts = await send(ports, receiver, due)
  const { failingSince, pausedUntil } = await deliveries.record(webhookId, attempts)
  if (attempts.some(({ posted }) => posted.outcome === 'gone')) {
    await ports.disable(webhookId, 'gone')
    return false
  }
  if (failingSince !== null && clock() - failingSince.getTime() >= FAILING_MS) {
    await ports.disable(webhookId, 'failing')
    return false
  }
  return pausedUntil === null
}

async function send(
  ports: DrainPorts,
  { webhookId, url, payload }: Receiver,
  due: readonly Pending[],
): Promise<Attempt[]> {
  const keys = await ports.keysOf(webhookId)
  const bodies = await ports.bodiesOf(
    due.map(({ event_id }) => event_id),
    payload,
  )
  return Promise.all(
    due.map(async (delivery): Promise<Attempt> => {
      const body = bodies.get(delivery.event_id)
      if (body === undefined) throw new Error(`the log has no event ${delivery.event_id}, which is to be delivered`)
      const headers = signDelivery(keys, delivery.event_id, ports.clock(), body)
      const posted: Posted = await ports.post(url, headers, body)
      return { delivery, posted }
    }),
  )
}
