/**
 * The webhook sender process: the only one that can sign deliveries. One leads: it decides what is sent, finds what is
 * due, and removes what is old. Any number sends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { lead } from '../event-log/lead.ts'
import { repeat } from '../event-log/repeat.ts'
import { FORGET_INTERVAL_MS, forgetDone } from '../jobs/forget-done.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { type Bodies, createBodies } from './bodies.ts'
import { drainWebhook } from './drain-webhook.ts'
import { findDueLines, OPEN_WEBHOOKS, readOldestPending } from './due-webhooks.ts'
import { FAN_OUT, fanOut, type RenderEvents } from './fan-out.ts'
import { parseLine } from './line.ts'
import { openSender } from './open-sender.ts'
import { createPlaces } from './places.ts'
import { createTenantOf } from './receiver-of.ts'
import { readRendered } from './rendered-by-id.ts'
import { removeOld } from './retention.ts'
import { runReplays } from './run-replays.ts'
import { createRunningDrains } from './running-drains.ts'
import { tellGivenUp } from './tell-given-up.ts'
import { createTellSenders, type TellSenders } from './tell-senders.ts'

/** Jobs at once: they only put a line among those that wait for a place. */
const JOBS_AT_ONCE = 16
/** How often the leader looks for deliveries that are due: retries, and what senders were not told. */
const DUE_INTERVAL_MS = 1_000
const RETENTION_INTERVAL_MS = 60 * 60_000

/** What a sender has: `render` gives the public events of events of the log. */
type SenderContext = Context & { readonly render: RenderEvents }

/**
 * Sends until it is drained.
 *
 * @param signal aborts when the process is stopping
 */
export async function startWebhookSender(
  ctx: SenderContext,
  signal: AbortSignal,
): Promise<{ readonly drain: () => Promise<void> }> {
  const { config, jobs, leases, logger, pool, metrics, clock, render } = ctx
  const bodies = createBodies((ids) => readRendered({ pool, render }, ids))
  const running = createRunningDrains()
  const sender = await openSender(ctx, running, bodies.bodiesOf)
  const oldest = 'Age in seconds of the oldest delivery that an enabled webhook has not received. 0 if there is none.'
  metrics.addGauge('bursar_webhook_oldest_pending_seconds', oldest, [], async () => [
    { labels: {}, value: await readOldestPending(pool, clock()) },
  ])
  const tell = createTellSenders(jobs, { running, signal, log: logger })
  const places = createPlaces({
    async send(line, place) {
      if (await drainWebhook(sender, line, place, signal)) tell([line])
    },
    onError: (line, error) => logger.warn({ err: error, line }, 'cannot send to a webhook; it is found again'),
  })
  const tenantOf = createTenantOf(pool)
  const handler: JobHandler = async ({ webhook_id: line = '' }) => {
    const tenantId = await tenantOf(parseLine(line).webhookId)
    if (tenantId !== null) places.put(line, tenantId)
  }
  const worker = jobs.process('webhook', handler, { concurrency: JOBS_AT_ONCE })
  const onError = (error: unknown) =>
    logger.warn({ err: error }, 'a task of the webhook senders failed; it will restart')
  const leader = lead({ leases, name: FAN_OUT, leaseMs: config.leaseMs, signal, onError }, (_lease, stop) =>
    leadSenders({ ...ctx, render: keeping(render, bodies) }, { tell, onError }, stop),
  )
  return {
    async drain() {
      await Promise.all([leader, worker.close()])
      await Promise.race([places.close(), pause(config.shutdownGraceMs, undefined, { ref: false })])
      sender.close()
    },
  }
}

type Led = {
  readonly tell: TellSenders
  readonly onError: (error: unknown) => void
}

async function leadSenders(ctx: SenderContext, { tell, onError }: Led, signal: AbortSignal): Promise<void> {
  const { pool, wakeUps, clock, metrics, newId, render } = ctx
  const onRead = ({ recordedAt }: { readonly recordedAt: string }) =>
    metrics.setLevel('bursar_webhook_fan_out_lag_seconds', {}, Math.max(0, clock() - Date.parse(recordedAt)) / 1_000)
  const findDue = async () => tell(await findDueLines(pool, new Date(clock())))
  await Promise.all([
    repeat(() => fanOut({ pool, wakeUps, render, newId, clock, tell, onRead }, signal), {
      intervalMs: DUE_INTERVAL_MS,
      signal,
      onError,
    }),
    repeat(() => runReplays({ pool, render, newId, clock, tell }, signal), {
      intervalMs: DUE_INTERVAL_MS,
      signal,
      onError,
    }),
    repeat(() => tellGivenUp(ctx, signal), { intervalMs: DUE_INTERVAL_MS, signal, onError }),
    repeat(() => forgetDone(ctx, OPEN_WEBHOOKS), { intervalMs: FORGET_INTERVAL_MS, signal, onError }),
    repeat(findDue, { intervalMs: DUE_INTERVAL_MS, signal, onError }),
    repeat(() => removeOld(pool, clock(), signal), { intervalMs: RETENTION_INTERVAL_MS, signal, onError }),
  ])
}

/** What was rendered to decide who gets it is sent soon. */
function keeping(render: RenderEvents, bodies: Pick<Bodies, 'keep'>): RenderEvents {
  return async (logged, isWanted) => {
    const rendered = await render(logged, isWanted)
    bodies.keep(rendered.flat())
    return rendered
  }
}
