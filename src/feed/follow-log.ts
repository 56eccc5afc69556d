/**
 * Reads the log once for all readers of a process, and adds what it renders to the ring. Invariant: the position of a
 * run moves only past events that are in the ring, for every channel that had begun.
 */
import type { Context } from '../context.ts'
import { pause } from '../event-log/lead.ts'
import { type LoggedEvent, readLogEnd, readWholeLog } from '../event-log/read-logged.ts'
import { pollMs, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import { endIdOf } from './cursor.ts'
import { toFeedEvent } from './feed-event.ts'
import type { FeedContext, Render } from './render.ts'
import type { Channel, Ring } from './ring.ts'

const BATCH_SIZE = 1_000
/** Minimum time between reads under load: a read costs much the same for one event as for a hundred. */
const MIN_INTERVAL_MS = 20
const RETRY_MS = 1_000

/** From the first reader until there is none. */
export type Run = {
  readonly ring: Ring
  /** Called after each read with its newest event; without one if nothing was left to read. */
  readonly onRead: (newest: LoggedEvent | undefined) => void
  /** Called when a read failed. It is tried again. */
  readonly onFailure: (error: unknown) => void
  readonly stop: AbortController
  /** Aborted when the database was restored to an earlier state. */
  moved: AbortController
  place: { readonly epoch: string; readonly position: SubscriptionPosition } | null
  isReading: boolean
}

/** What the log is followed with. */
export type FollowContext = FeedContext & {
  readonly wakeUps: Pick<WakeUps, 'watch'>
  readonly logger: Pick<Context['logger'], 'warn'>
}

/** Follows the log until the run is stopped. Never throws. */
export async function followLog(ctx: FollowContext, run: Run): Promise<void> {
  const { signal } = run.stop
  const watch = ctx.wakeUps.watch()
  let readAt = performance.now()
  while (!signal.aborted) {
    const startedAt = performance.now()
    const count = await readOnce(ctx, run).catch((error: unknown) => {
      ctx.logger.warn({ err: error }, 'the feed cannot read the log')
      if (!signal.aborted) run.onFailure(error)
      return null
    })
    if (count === null) await pause(RETRY_MS, signal)
    else if (count === 0) await watch.wait(pollMs(performance.now() - readAt), signal)
    else {
      readAt = performance.now()
      if (count < BATCH_SIZE) await pause(MIN_INTERVAL_MS - (readAt - startedAt), signal)
    }
  }
  watch.stop()
}

/** New channels begin where the run is; in the middle of a read, behind it. */
export function beginChannels({ ring, place, isReading }: Run): void {
  if (place === null || isReading) return
  for (const channel of ring.channels()) {
    if (channel.from !== null) continue
    channel.from = place.position
    tell(channel)
  }
}

/** @returns the number of events that were read */
async function readOnce(ctx: FeedContext, run: Run): Promise<number> {
  if (run.place === null) {
    const { epoch, place: position } = await readLogEnd(ctx.pool)
    run.place = { epoch, position }
  }
  if (run.stop.signal.aborted) return 0
  beginChannels(run)
  run.isReading = true
  try {
    return await readNext(ctx, run, run.place)
  } finally {
    run.isReading = false
    if (!run.stop.signal.aborted) beginChannels(run)
  }
}

async function readNext(ctx: FeedContext, run: Run, before: NonNullable<Run['place']>): Promise<number> {
  const { pool, render, catalogue } = ctx
  const { ring, onRead } = run
  const { epoch, events } = await readWholeLog(pool, before.position, BATCH_SIZE)
  if (run.stop.signal.aborted) return 0
  if (epoch !== before.epoch) {
    ring.clear()
    run.place = null
    run.moved.abort()
    run.moved = new AbortController()
    return 0
  }
  const last = events.at(-1)
  if (last === undefined) {
    onRead(undefined)
    return 0
  }
  const concerned = events.filter((event) => ring.channelOf(event)?.from != null)
  const rendered = await render(concerned)
  if (run.stop.signal.aborted) return 0
  const changed = add(ring, catalogue, concerned, rendered)
  run.place = { epoch, position: last.place }
  // Readers take what there is while they are told.
  for (const channel of changed) tell(channel)
  onRead(last)
  return events.length
}

function add(
  ring: Ring,
  catalogue: FeedContext['catalogue'],
  logged: readonly LoggedEvent[],
  rendered: Awaited<ReturnType<Render>>,
): Set<Channel> {
  const changed = new Set<Channel>()
  for (const [n, event] of logged.entries()) {
    const channel = ring.channelOf(event)
    // Its readers may have left meanwhile, and another one come, for whom it begins behind this read.
    if (channel === undefined || channel.from === null) continue
    channel.newestId = endIdOf(event, catalogue.lastIndexOf(event))
    const own = (rendered[n] ?? []).map((one) => toFeedEvent(event, one))
    ring.add(channel, own)
    changed.add(channel)
  }
  return changed
}

function tell(channel: Channel): void {
  for (const listener of channel.listeners) listener()
}
