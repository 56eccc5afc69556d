/**
 * Sends what is due to one webhook. Any number of senders may run: the lease of the webhook belongs to one of them.
 *
 * At least once: a sender that dies between a response and its record sends the same event with the same id again.
 */
import type { Leases } from '../event-log/leases.ts'
import type { Attempt, Deliveries, Pending } from './deliveries.ts'
import type { DisableReason, Payload } from './events.ts'
import type { Post, Posted } from './post.ts'
import type { RunningDrains } from './running-drains.ts'
import { SecretUnusable } from './secrets.ts'
import { type SigningKeys, signDelivery } from './signature.ts'

/** Deliveries of a round: they are recorded together. */
const ROUND = 256
/** After as many failures without a success a round ends: a receiver that refuses everything costs few requests. */
const MOST_FAILURES = 8
/** Requests to one receiver at once. */
const AT_ONCE = 8
/** After this time a job makes room for those of other webhooks. */
const JOB_MS = 10_000
/** After this time without one success a webhook is disabled. */
const FAILING_MS = 5 * 24 * 60 * 60_000

export type Receiver = {
  readonly webhookId: string
  /** Of its stream: it changes with everything about it, its secrets too. */
  readonly version: number
  readonly tenantId: string
  readonly url: string
  readonly payload: Payload
  /** When its owner last changed or enabled it. */
  readonly updatedAt: Date
  readonly pausedUntil: Date | null
  /** Whether nothing succeeded since its last failure. */
  readonly isFailing: boolean
  /** Whether a delivery waits for its next attempt: it holds back the later ones of its resource. */
  readonly isWaiting: boolean
}

export type DrainPorts = {
  readonly leases: Leases
  readonly running: RunningDrains
  readonly deliveries: Deliveries
  /** `null` for a webhook that is disabled or deleted. */
  readonly receiverOf: (webhookId: string) => Promise<Receiver | null>
  readonly keysOf: (receiver: Pick<Receiver, 'webhookId' | 'version'>) => Promise<SigningKeys>
  /** The bodies of public events, as they were at their time: the same bytes for each attempt. */
  readonly bodiesOf: (eventIds: readonly string[], payload: Payload) => Promise<ReadonlyMap<string, string>>
  readonly post: Post
  readonly disable: (receiver: Receiver, reason: DisableReason) => Promise<void>
  readonly clock: () => number
  readonly onAttempts: (attempts: readonly Attempt[]) => void
}

/**
 * @returns whether more may be due: the job is to be added again
 * @throws database errors: the job is retried
 */
export type DrainWebhook = (webhookId: string, signal: AbortSignal) => Promise<boolean>

export function createDrainWebhook(ports: DrainPorts): DrainWebhook {
  return async (webhookId, signal) => {
    const lease = await ports.leases.acquire(`webhook-${webhookId}`)
    if (lease === null) return false // Another sender holds the webhook, and has been notified of more work.
    const endsAt = performance.now() + JOB_MS
    const isOver = () => performance.now() >= endsAt || signal.aborted
    const round = () => lease.during(() => sendRound(ports, webhookId, isOver))
    let isMore = true
    try {
      do {
        const running = ports.running.begin(webhookId)
        try {
          isMore = true
          while (isMore && !isOver() && (await lease.keep())) {
            const left = await round()
            isMore = left === 'more' || (left === 'nothing' && (await running.more(signal)))
          }
        } finally {
          running.end()
        }
      } while (!isMore && (await lease.release()) === 'wanted')
    } catch (error) {
      await lease.release({ force: true })
      throw error
    }
    if (isMore) await lease.release({ force: true })
    return isMore
  }
}

/** What is left after a round: `blocked` is for a webhook that is disabled or pauses. */
type Left = 'more' | 'nothing' | 'blocked'

async function sendRound(ports: DrainPorts, webhookId: string, isOver: () => boolean): Promise<Left> {
  const { deliveries, clock, onAttempts } = ports
  const receiver = await ports.receiverOf(webhookId)
  if (receiver === null || (receiver.pausedUntil !== null && receiver.pausedUntil.getTime() > clock())) return 'blocked'
  // One that failed is tried with one delivery: a dead receiver costs one request, and no delivery its attempts.
  const limit = receiver.isFailing ? 1 : ROUND
  const due = await deliveries.next(webhookId, limit)
  if (due.length === 0) return restIfMany(ports, receiver)
  const attempts = await send(ports, receiver, due, isOver)
  if (attempts.length === 0) return 'more'
  const { failingSince, pausedUntil } = await deliveries.record(webhookId, attempts)
  onAttempts(attempts)
  const reason = reasonToDisable(attempts, failingSince, receiver, clock())
  if (reason !== null) await ports.disable(receiver, reason)
  if (reason !== null || pausedUntil !== null) return 'blocked'
  // What was added meanwhile comes with a notice of its own.
  return due.length === limit || isOver() ? 'more' : restIfMany(ports, receiver)
}

/** Each look for what is due reads all that waits behind another. */
async function restIfMany({ deliveries }: DrainPorts, { webhookId, isWaiting }: Receiver): Promise<Left> {
  return isWaiting && (await deliveries.rest(webhookId)) ? 'blocked' : 'nothing'
}

function reasonToDisable(
  attempts: readonly Attempt[],
  failingSince: Date | null,
  { updatedAt }: Receiver,
  now: number,
): DisableReason | null {
  if (attempts.some(({ posted }) => posted.outcome === 'gone')) return 'gone'
  if (failingSince === null) return null
  return now - Math.max(failingSince.getTime(), updatedAt.getTime()) >= FAILING_MS ? 'failing' : null
}

async function send(
  ports: DrainPorts,
  receiver: Receiver,
  due: readonly Pending[],
  isOver: () => boolean,
): Promise<Attempt[]> {
  const { url, payload } = receiver
  const ids = due.map(({ event_id }) => event_id)
  const [keys, bodies] = await Promise.all([keysOrWhyNot(ports, receiver), ports.bodiesOf(ids, payload)])
  // One attempt says why, to the owner too.
  if (keys instanceof SecretUnusable)
    return due.slice(0, 1).map((delivery) => ({ delivery, posted: notSent(keys.message) }))
  const attempts: Attempt[] = []
  let isReached = true
  const sendOne = async ({ event_id: eventId }: Pending): Promise<Posted> => {
    const body = bodies.get(eventId)
    if (body === undefined) return notSent(`the log does not contain the event ${eventId}`)
    const posted = await ports.post(url, signDelivery(keys, eventId, ports.clock(), body), body)
    // Without a response the rest of the round would only wait for the same time-out.
    if (posted.status === null) isReached = false
    return posted
  }
  const chains = chainsOf(due)
  const isRefusing = () => attempts.length >= MOST_FAILURES && !attempts.some(isDelivered)
  const sendChains = async (): Promise<void> => {
    for (let chain = chains.shift(); chain !== undefined; chain = chains.shift()) {
      for (const delivery of chain) {
        if (!isReached || isRefusing() || isOver()) return
        const posted = await sendOne(delivery)
        attempts.push({ delivery, posted })
        // Later events of a resource wait for this one.
        if (posted.outcome !== 'delivered') break
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendChains))
  return attempts
}

async function keysOrWhyNot({ keysOf }: DrainPorts, receiver: Receiver): Promise<SigningKeys | SecretUnusable> {
  try {
    return await keysOf(receiver)
  } catch (error) {
    if (error instanceof SecretUnusable) return error
    throw error
  }
}

function isDelivered({ posted }: Attempt): boolean {
  return posted.outcome === 'delivered'
}

/** The deliveries of each resource, which are sent one after the other. */
function chainsOf(due: readonly Pending[]): (readonly Pending[])[] {
  const chains = new Map<string, Pending[]>()
  for (const delivery of due) {
    const chain = chains.get(delivery.stream_id)
    if (chain === undefined) chains.set(delivery.stream_id, [delivery])
    else chain.push(delivery)
  }
  return [...chains.values()]
}

function notSent(reason: string): Posted {
  return { outcome: 'failed', status: null, error: reason, response: '', durationMs: 0, retryAfterMs: null }
}
