/** Sends the deliveries of one round to their receiver, several at once, and those of a resource one after the other. */

import type { Bodies } from './bodies.ts'
import type { Attempt } from './deliveries.ts'
import type { Pending } from './next-deliveries.ts'
import { isRefusal, type Posted } from './post.ts'
import type { Receiver } from './receiver-of.ts'
import { SecretUnusable, type SigningKeysOf } from './secrets.ts'
import { type SignedHeaders, type SigningKeys, signDelivery } from './signature.ts'
import { TERMS_MS } from './terms.ts'

/** After as many failures without a success a round ends: a receiver that is down costs few requests. */
const MOST_FAILURES = 8
/** An answer within this time holds up nothing. */
const PROMPT_MS = 250
/** Requests to one receiver at once, and more for replays. */
const AT_ONCE = 8
const REPLAYS_AT_ONCE = 4

/** What a sender has, beside its leases. */
export type DeliveryContext = {
  /** `null` for a webhook that is disabled or deleted. */
  readonly receiverOf: (webhookId: string) => Promise<Receiver | null>
  readonly keysOf: SigningKeysOf
  /** The bodies of public events, as they were at their time: the same bytes for each attempt. */
  readonly bodiesOf: Bodies['bodiesOf']
  readonly post: (url: string, headers: SignedHeaders, body: string) => Promise<Posted>
  readonly clock: () => number
}

/** What was read of the receiver, and when the reading began, by the clock of the process. */
type Terms = { readonly receiver: Receiver; readonly readAt: number }

export type Until = {
  /** Whether no delivery is begun any more. */
  readonly isStopped: () => boolean
  /**
   * Whether the round is to end, after so many ms of sending: what is answered at once goes on while another request holds
   * it up.
   */
  readonly isOver: (sendingMs: number) => boolean
}

/** Begins some deliveries in any case: a round that took long to read must not end without one. */
export async function sendDeliveries(
  ctx: DeliveryContext,
  { receiver, readAt }: Terms,
  due: readonly Pending[],
  { isReplay, isStopped, isOver }: Until & { readonly isReplay: boolean },
): Promise<Attempt[]> {
  const [keys, bodies] = await Promise.all([
    keysOrWhyNot(ctx, receiver),
    ctx.bodiesOf(due.map(({ event_id }) => event_id)),
  ])
  // One attempt says why, to the owner too.
  if (keys instanceof SecretUnusable)
    return due.slice(0, 1).map((delivery) => ({ delivery, posted: notSent(keys.message), isRefused: false }))
  const terms = new CurrentTerms(ctx, { receiver, readAt, keys })
  const attempts: Attempt[] = []
  let isDown = false
  const isFailing = () =>
    attempts.filter(({ isRefused }) => !isRefused).length >= MOST_FAILURES && !attempts.some(isDelivered)
  const sending = new Set<{ readonly at: number }>()
  const isHeldUp = () => [...sending].some(({ at }) => performance.now() - at > PROMPT_MS)
  const sendOne = async (delivery: Pending): Promise<Attempt> => {
    const { event_id: eventId, payload } = delivery
    const body = bodies.get(eventId)?.(payload)
    if (body === undefined)
      return { delivery, posted: notSent(`the log does not contain the event ${eventId}`), isRefused: true }
    const begun = { at: performance.now() }
    sending.add(begun)
    const posted = await ctx.post(receiver.url, signDelivery(terms.keys, eventId, ctx.clock(), body), body)
    sending.delete(begun)
    const isRefused = isRefusal(posted)
    // Without a response the rest of the round would only wait for the same time-out; and some receivers ask for a pause.
    if (posted.status === null || (posted.outcome === 'failed' && !isRefused && posted.retryAfterMs !== null))
      isDown = true
    return { delivery, posted, isRefused }
  }
  const chains = chainsOf(due)
  const beganAt = performance.now()
  const sendChains = async (): Promise<void> => {
    let isPrompt = true
    let isFirst = true
    for (let chain = chains.shift(); chain !== undefined; chain = chains.shift()) {
      for (const delivery of chain) {
        while (!terms.areCurrent() && !terms.haveChanged) await terms.read()
        if (terms.haveChanged || isDown || isFailing() || isStopped()) return
        if (!isFirst && isOver(performance.now() - beganAt) && !(isPrompt && isHeldUp())) return
        isFirst = false
        const attempt = await sendOne(delivery)
        attempts.push(attempt)
        isPrompt = attempt.posted.durationMs <= PROMPT_MS
        // Later events of a resource wait for this one.
        if (!isDelivered(attempt)) break
      }
    }
  }
  await Promise.all(Array.from({ length: isReplay ? REPLAYS_AT_ONCE : AT_ONCE }, sendChains))
  return attempts
}

/** The terms by which deliveries are begun. Those that run at once share what is read. */
class CurrentTerms {
  /** Whether they are others now: what is left of the round is sent by those. */
  haveChanged = false
  keys: SigningKeys
  readonly #ctx: DeliveryContext
  readonly #receiver: Receiver
  #readAt: number
  #reading: Promise<void> | null = null

  constructor(ctx: DeliveryContext, { receiver, readAt, keys }: Terms & { readonly keys: SigningKeys }) {
    this.#ctx = ctx
    this.#receiver = receiver
    this.#readAt = readAt
    this.keys = keys
  }

  areCurrent(): boolean {
    return performance.now() - this.#readAt < TERMS_MS
  }

  read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #readNow(): Promise<void> {
    const readAt = performance.now()
    const receiver = await this.#ctx.receiverOf(this.#receiver.webhookId)
    const keys = await keysOrWhyNot(this.#ctx, this.#receiver)
    if (receiver?.version !== this.#receiver.version || keys instanceof SecretUnusable) {
      this.haveChanged = true
      return
    }
    this.#readAt = readAt
    this.keys = keys
  }
}

async function keysOrWhyNot({ keysOf }: DeliveryContext, receiver: Receiver): Promise<SigningKeys | SecretUnusable> {
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

/**
 * The deliveries of each resource, which are sent one after the other. What its owner asked for waits for nothing; of the others,
 * types take turns, so that one type that always fails is not all that is tried.
 */
function chainsOf(due: readonly Pending[]): (readonly Pending[])[] {
  const chains = new Map<string, Pending[]>()
  for (const delivery of due.filter(({ is_asked }) => !is_asked)) {
    const chain = chains.get(delivery.stream_id)
    if (chain === undefined) chains.set(delivery.stream_id, [delivery])
    else chain.push(delivery)
  }
  const turns = new Map<string, number>()
  const inTurn = [...chains.values()].map((chain) => {
    const type = chain[0]?.type ?? ''
    const turn = turns.get(type) ?? 0
    turns.set(type, turn + 1)
    return { chain, turn }
  })
  const asked = due.filter(({ is_asked }) => is_asked).map((delivery) => [delivery])
  return [...asked, ...inTurn.sort((a, b) => a.turn - b.turn).map(({ chain }) => chain)]
}

function notSent(reason: string): Posted {
  return { outcome: 'failed', status: null, error: reason, response: '', durationMs: 0, retryAfterMs: null }
}
