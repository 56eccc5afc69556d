/**
 * Decides what is sent to webhooks: reads the log behind a checkpoint of its own, and adds a delivery for each public
 * event that a webhook wants. The deliveries and the checkpoint are saved by one statement, so that each event is added
 * exactly once, whenever the process dies.
 *
 * While no tenant has a webhook, the log is not read at all.
 */
import type { Pool } from 'pg'
import type { Published } from '../capability.ts'
import type { Context } from '../context.ts'
import { pause } from '../event-log/lead.ts'
import { type LoggedEvent, readWholeLog } from '../event-log/read-logged.ts'
import { MOVE_CHECKPOINT } from '../event-log/sql.ts'
import { comparePlaces, loadPlace, pollMs, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { WakeUps } from '../event-log/wake-ups.ts'
import {
  byOwner,
  isInForce,
  loadTargets,
  mayWant,
  nextTargets,
  type Target,
  type TargetsOf,
  type Told,
  wants,
} from './targets.ts'

/** The subscription's name identifies its checkpoint: it must never change. */
export const FAN_OUT = 'webhooks'

/** A public event as it is rendered, with its index among those of its event of the log. */
export type RenderedEvent = { readonly event: Told & { readonly id: string }; readonly index: number }

/** Renders the public events of events of the log. */
export type RenderEvents = (
  logged: readonly LoggedEvent[],
  isWanted: (publisher: Published, logged: LoggedEvent) => boolean,
) => Promise<readonly (readonly RenderedEvent[])[]>

/** What the leader of the senders needs to add deliveries. */
export type LeaderContext = Pick<Context, 'pool' | 'newId' | 'clock'> & {
  readonly render: RenderEvents
  /** Tells the senders of lines that have something to be sent. A hint: it may be lost. */
  readonly tell: (lines: Iterable<string>) => void
}

/** Following the log needs more. */
type FollowContext = LeaderContext & {
  readonly wakeUps: Pick<WakeUps, 'watch'>
  /** Called with the newest event of each read. */
  readonly onRead: (newest: LoggedEvent) => void
}

/** Events of the log that are rendered at once. */
const BATCH_SIZE = 500
/** Minimum time between reads under load: a read costs much the same for one event as for a hundred. */
const MIN_INTERVAL_MS = 50
/** How often it looks for a first webhook while events are appended. */
const IDLE_INTERVAL_MS = 1_000

type Delivery = { readonly target: Target; readonly logged: LoggedEvent; readonly rendered: RenderedEvent }

/** Follows the log until the signal aborts. @throws database errors: the caller starts again */
export async function fanOut(ctx: FollowContext, signal: AbortSignal): Promise<void> {
  const { pool, wakeUps } = ctx
  const watch = wakeUps.watch()
  try {
    while (!signal.aborted) {
      const stored = await loadPlace(pool, FAN_OUT)
      const targets = await loadTargets(pool, stored.checkpoint)
      if (targets.length > 0) await follow(ctx, { ...stored, targets }, watch.wait, signal)
      else {
        await pause(IDLE_INTERVAL_MS, signal)
        await watch.wait(pollMs(Number.POSITIVE_INFINITY), signal)
      }
    }
  } finally {
    watch.stop()
  }
}

/** Until there is no webhook any more, or the places of the log mean other events. */
async function follow(
  ctx: FollowContext,
  stored: Awaited<ReturnType<typeof loadPlace>> & { readonly targets: readonly Target[] },
  wait: (timeoutMs: number, signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const { pool } = ctx
  let { checkpoint, targets } = stored
  let from = startOf(checkpoint, targets)
  let readAt = performance.now()
  while (!signal.aborted && targets.length > 0) {
    const startedAt = performance.now()
    const { epoch, events } = await readWholeLog(pool, from, BATCH_SIZE)
    // A restored database assigns places again that were already read.
    if (epoch !== stored.epoch) return
    const last = events.at(-1)
    if (last === undefined) {
      await wait(pollMs(performance.now() - readAt), signal)
      continue
    }
    targets = await nextTargets(pool, targets, events)
    const deliveries = await deliveriesOf(ctx, events, byOwner(targets))
    await resume(pool, events)
    if (!(await save(ctx, deliveries, { epoch, before: checkpoint, after: last.place }))) return
    checkpoint = last.place
    from = last.place
    ctx.onRead(last)
    ctx.tell(new Set(deliveries.map(({ target }) => target.webhookId)))
    readAt = performance.now()
    if (events.length < BATCH_SIZE) await pause(MIN_INTERVAL_MS - (readAt - startedAt), signal)
  }
}

/** Events from before the first webhook concern nobody. */
function startOf(checkpoint: SubscriptionPosition, targets: readonly Target[]): SubscriptionPosition {
  const earliest = targets.map(({ after }) => after).reduce((a, b) => (comparePlaces(a, b) < 0 ? a : b))
  return comparePlaces(checkpoint, earliest) < 0 ? earliest : checkpoint
}

async function deliveriesOf(
  { render }: LeaderContext,
  events: readonly LoggedEvent[],
  targetsOf: TargetsOf,
): Promise<Delivery[]> {
  const targetsAt = (logged: LoggedEvent) => targetsOf(logged).filter((target) => isInForce(target, logged.place))
  const concerned = events.filter((logged) => targetsAt(logged).length > 0)
  if (concerned.length === 0) return []
  const rendered = await render(concerned, (publisher, logged) =>
    targetsAt(logged).some((target) => mayWant(target, publisher, logged)),
  )
  return concerned.flatMap((logged, n) =>
    (rendered[n] ?? []).flatMap((one) =>
      targetsAt(logged)
        .filter((target) => wants(target, one.event))
        .map((target) => ({ target, logged, rendered: one })),
    ),
  )
}

/** A webhook that its owner enabled or changed is tried at once, and has its five days again. */
async function resume(pool: Pool, events: readonly LoggedEvent[]): Promise<void> {
  const resumed = events.flatMap(({ type, streamId }) =>
    type === 'WebhookEnabled' || type === 'WebhookChanged' ? [streamId.slice('webhook-'.length)] : [],
  )
  if (resumed.length === 0) return
  await pool.query(
    `UPDATE webhook_health SET failing_since = NULL, failures = 0, paused_until = NULL, refused = 0, refused_types = '{}',
            replays_rest_until = NULL, replays_refused = 0
      WHERE webhook_id = ANY ($1)`,
    [resumed],
  )
}

type Move = { readonly epoch: string; readonly before: SubscriptionPosition; readonly after: SubscriptionPosition }

/** @returns false when another process has moved the checkpoint, or the database was restored: nothing was saved */
async function save(
  { pool, newId, clock }: LeaderContext,
  deliveries: readonly Delivery[],
  { epoch, before, after }: Move,
): Promise<boolean> {
  // An event is written once for all webhooks that want it.
  const events = [...new Set(deliveries.map(({ rendered }) => rendered))]
  const numberOf = new Map(events.map((rendered, n) => [rendered, n + 1]))
  const places = new Map(deliveries.map(({ rendered, logged }) => [rendered, logged.place]))
  const { rows } = await pool.query<{ saved: boolean }>({
    name: 'add_deliveries',
    text: ADD,
    values: [
      FAN_OUT,
      after.transactionId.toString(),
      after.position.toString(),
      epoch,
      before.transactionId.toString(),
      before.position.toString(),
      new Date(clock()),
      deliveries.map(() => newId('delivery')),
      deliveries.map(({ target }) => target.webhookId),
      deliveries.map(({ target }) => target.tenantId),
      deliveries.map(({ rendered }) => numberOf.get(rendered)),
      events.map(({ event }) => event.id),
      events.map(({ event }) => event.type),
      events.map(({ event }) => orderOf(event)),
      events.map((rendered) => places.get(rendered)?.transactionId.toString()),
      events.map((rendered) => places.get(rendered)?.position.toString()),
      events.map(({ index }) => index),
      deliveries.map(({ target }) => target.payload),
    ],
  })
  return rows[0]?.saved ?? false
}

/** The deliveries with the same value keep their order: those of one resource, also where several streams tell of it. */
export function orderOf({ resource }: Pick<Told, 'resource'>): string {
  return `${resource.type}-${resource.id}`
}

// What a crash of the database loses of this is lost with its checkpoint, and is added again.
const ADD = `WITH hint AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), saved AS (${MOVE_CHECKPOINT}), added AS (
    INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, payload, due_at, created_at)
    SELECT d.delivery_id, d.webhook_id, d.tenant_id, e.event_id, e.type, e.stream_id, e.transaction_id, e.position, e.part, d.payload, $7::timestamptz, $7::timestamptz
      FROM unnest($8::text[], $9::text[], $10::text[], $11::integer[], $18::text[]) AS d(delivery_id, webhook_id, tenant_id, n, payload)
      JOIN unnest($12::text[], $13::text[], $14::text[], $15::xid8[], $16::bigint[], $17::integer[]) WITH ORDINALITY
        AS e(event_id, type, stream_id, transaction_id, position, part, n) USING (n)
     WHERE EXISTS (SELECT FROM saved))
  SELECT EXISTS (SELECT FROM saved) AS saved FROM hint`
