/**
 * Sends what is due to one line of a webhook. Any number of senders may run: the lease of the line belongs to one of them.
 *
 * At least once: a sender that dies between a response and its record sends the same event with the same id again.
 */
import type { Context } from '../context.ts'
import { type Attempt, recordAttempts, restLine } from './deliveries.ts'
import type { DisableReason } from './events.ts'
import { type Line, leaseOfLine, parseLine } from './line.ts'
import { type Choice, nextDeliveries } from './next-deliveries.ts'
import type { Place } from './places.ts'
import type { Receiver } from './receiver-of.ts'
import type { RunningDrains } from './running-drains.ts'
import { type DeliveryContext, sendDeliveries, type Until } from './send-deliveries.ts'

/** After this time a round ends, and with it the turn of the webhook if others wait for its place. */
const ROUND_MS = 500
/** After this time a line is queued again, so that another sender can take it. */
const TURN_MS = 10_000
/** After this time without one success a webhook is disabled. */
const FAILING_MS = 5 * 24 * 60 * 60_000

/** What a sender needs. */
export type DrainContext = DeliveryContext &
  Pick<Context, 'leases' | 'pool'> & {
    readonly running: RunningDrains
    /** In [0, 1): for the times between attempts. */
    readonly random: () => number
    readonly disable: (receiver: Receiver, reason: DisableReason) => Promise<void>
    readonly onAttempts: (attempts: readonly Attempt[]) => void
  }

/**
 * @param name of the line
 * @returns whether more may be due: the line is to be queued again
 * @throws database errors: the line is found again by its due time
 */
export async function drainWebhook(
  ctx: DrainContext,
  name: string,
  place: Place,
  signal: AbortSignal,
): Promise<boolean> {
  const lease = await ctx.leases.acquire(leaseOfLine(name))
  if (lease === null) return false // Another sender holds the line, and has been notified of more work.
  const startedAt = performance.now()
  const isOver = () => {
    const ms = performance.now() - startedAt
    return signal.aborted || ms >= TURN_MS || (ms >= ROUND_MS && place.isWanted())
  }
  const until: Until = { isOver, isStopped: () => signal.aborted }
  const round = () => lease.during(() => place.during(() => sendRound(ctx, parseLine(name), until)))
  let isMore = true
  try {
    do {
      const running = ctx.running.begin(name)
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

/** What is left after a round: `blocked` is for a webhook that is disabled or pauses. */
type Left = 'more' | 'nothing' | 'blocked'

async function sendRound(ctx: DrainContext, line: Line, { isStopped, isOver }: Until): Promise<Left> {
  const { clock, onAttempts } = ctx
  const { webhookId } = line
  const readAt = performance.now()
  const receiver = await ctx.receiverOf(webhookId)
  if (receiver === null) return 'blocked'
  const choice = choiceOf(line, receiver, clock())
  if (choice.rest === 'none' && !choice.isAsked) return 'blocked'
  const { deliveries: due, isFull } = await nextDeliveries(ctx, choice)
  if (due.length === 0)
    return choice.rest === 'all' || choice.rest === 'probe' ? restIfMany(ctx, line, receiver) : 'blocked'
  const attempts = await sendDeliveries(ctx, { receiver, readAt }, due, {
    isReplay: line.isReplay,
    isStopped,
    isOver: (sendingMs) => sendingMs >= ROUND_MS || isOver(sendingMs),
  })
  if (attempts.length === 0) return 'more'
  const { failingSince, pausedUntil } = await recordAttempts(ctx, line, attempts)
  onAttempts(attempts)
  const reason = reasonToDisable(attempts, failingSince, receiver, clock())
  if (reason !== null) await ctx.disable(receiver, reason)
  if (reason !== null || (pausedUntil !== null && pausedUntil.getTime() > clock())) return 'blocked'
  // What was added meanwhile comes with a notice of its own.
  const isMore = isFull || receiver.isWaiting || attempts.length < due.length || choice.rest !== 'all'
  return isMore ? 'more' : 'nothing'
}

function choiceOf(line: Line, receiver: Receiver, now: number): Choice {
  const { isWaiting } = receiver
  const isAsked = receiver.isAsked && !line.isReplay
  const isUntil = (time: Date | null) => time !== null && time.getTime() > now
  const restOf = (): Choice['rest'] => {
    if (isUntil(receiver.pausedUntil)) return receiver.refusesAll && !line.isReplay ? 'untried' : 'none'
    if (line.isReplay && isUntil(receiver.replaysRestUntil)) return 'none'
    // One that failed is tried with one delivery: a dead receiver costs one request, and few deliveries their attempts.
    return receiver.isFailing || (line.isReplay && receiver.refusesReplays) ? 'probe' : 'all'
  }
  return { line, rest: restOf(), isAsked, isWaiting }
}

/** Each look for what is due reads all that waits behind another. */
async function restIfMany(ctx: DrainContext, line: Line, { isWaiting }: Receiver): Promise<Left> {
  return isWaiting && (await restLine(ctx, line)) ? 'blocked' : 'nothing'
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
