/**
 * The webhook sender process: the only one that can sign deliveries. One leads: it decides what is sent, finds what is
 * due, and removes what is old. Any number sends.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { lead } from '../event-log/lead.ts'
import { repeat } from '../event-log/repeat.ts'
import type { JobHandler } from '../jobs/jobs.ts'
import { type Bodies, createBodies } from '../webhooks/bodies.ts'
import { drainWebhook } from '../webhooks/drain-webhook.ts'
import { findDueLines, readOldestPending } from '../webhooks/due-webhooks.ts'
import { FAN_OUT, fanOut, type RenderEvents } from '../webhooks/fan-out.ts'
import { parseLine } from '../webhooks/line.ts'
import { createPlaces } from '../webhooks/places.ts'
import { createTenantOf } from '../webhooks/receiver-of.ts'
import { readRendered } from '../webhooks/rendered-by-id.ts'
import { removeOld } from '../webhooks/retention.ts'
import { runReplays } from '../webhooks/run-replays.ts'
import { createRunningDrains } from '../webhooks/running-drains.ts'
import { tellGivenUp } from '../webhooks/tell-given-up.ts'
import { createTellSenders, type TellSenders } from '../webhooks/tell-senders.ts'
import { composeCatalogue, composeRender } from './catalogue.ts'
import { FORGET_INTERVAL_MS, forgetDone, OPEN_WEBHOOKS } from './forget-done.ts'
import type { Kernel } from './kernel.ts'
import { newId } from './new-id.ts'
import type { Work } from './run-process.ts'
import { composeSender } from './webhook-drain.ts'

/** Jobs at once: they only put a line among those that wait for a place. */
const JOBS_AT_ONCE = 16
/** How often the leader looks for deliveries that are due: retries, and what senders were not told. */
const DUE_INTERVAL_MS = 1_000
const RETENTION_INTERVAL_MS = 60 * 60_000

export async function startWebhookSender(kernel: Kernel, signal: AbortSignal): Promise<Work> {
  const { config, jobs, leases, logger, pool, metrics, clock } = kernel
  const render = composeRender(await composeCatalogue(), kernel)
  const bodies = createBodies((ids) => readRendered({ pool, render }, ids))
  const running = createRunningDrains()
  const sender = await composeSender(kernel, running, bodies.bodiesOf)
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
    leadSenders(kernel, { render: keeping(render, bodies), tell, onError }, stop),
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
  readonly render: RenderEvents
  readonly tell: TellSenders
  readonly onError: (error: unknown) => void
}

async function leadSenders(kernel: Kernel, { render, tell, onError }: Led, signal: AbortSignal): Promise<void> {
  const { pool, wakeUps, clock, metrics } = kernel
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
    repeat(() => tellGivenUp(kernel, signal), { intervalMs: DUE_INTERVAL_MS, signal, onError }),
    repeat(() => forgetDone(kernel, OPEN_WEBHOOKS), { intervalMs: FORGET_INTERVAL_MS, signal, onError }),
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
