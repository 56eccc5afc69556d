/**
 * Carries out replays: adds deliveries for events of the past, a part at a time. The deliveries of a part and how far the
 * replay is are saved by one statement, so that each event is added once for a replay, whenever the process dies.
 */
import type { Pool } from 'pg'
import { parsePublicEventId } from '../core/event-ids.ts'
import { findLogged, type LoggedEvent, type LogOwner, readTenantRange } from '../event-log/read-logged.ts'
import { EVENTS } from '../event-log/sql.ts'
import { comparePlaces, placeBefore, type SubscriptionPosition } from '../event-log/subscription.ts'
import { type LeaderContext, orderOf, type RenderedEvent } from './fan-out.ts'
import { replaysOf } from './line.ts'
import { beginReplays, loadOpenReplays, type OpenReplay } from './open-replays.ts'
import { MOST_PENDING, PENDING } from './sql.ts'
import { mayWant, TEST, wants } from './targets.ts'

/** Events of the log that are read at once. */
const PART = 500

/**
 * Works until no replay can go on, or the signal aborts.
 *
 * @throws what failed for one of them, after the others went on: the caller starts again
 */
export async function runReplays(ctx: LeaderContext, signal: AbortSignal): Promise<void> {
  const { pool, clock, tell } = ctx
  const errors: unknown[] = []
  for (let goesOn = true; goesOn && !signal.aborted; ) {
    goesOn = false
    await beginReplays(pool, clock())
    for (const replay of await loadOpenReplays(pool)) {
      if (signal.aborted) break
      try {
        const moved = replay.row.only_failed ? await retryFailed(ctx, replay) : await addPart(ctx, replay)
        if (moved) tell([replay.row.only_failed ? replay.row.webhook_id : replaysOf(replay.row.webhook_id)])
        goesOn ||= moved
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** @returns whether it moved on */
async function addPart(ctx: LeaderContext, replay: OpenReplay): Promise<boolean> {
  const { pool, render } = ctx
  const { row, target, place, end } = replay
  if (await isBehind(pool, row.webhook_id)) return false
  const start = row.after === null ? null : await startOf(pool, target, row.after)
  const after = start === null || comparePlaces(place, start.from) > 0 ? place : start.from
  const range = { after, until: end, from: row.from_at, to: row.to_at }
  const read = await readTenantRange(pool, target, range, PART)
  // At least its own event comes, once it is older than every running transaction.
  if (read === undefined) return false
  const within = read.events.filter((logged) => comparePlaces(logged.place, end) < 0)
  const rendered = await render(within, (publisher, logged) => mayWant(target, publisher, logged))
  const wanted = within.flatMap((logged, n) =>
    (rendered[n] ?? [])
      .filter((one) => one.event.type !== TEST && wants(target, one.event))
      .filter(({ index }) => start === null || comparePlaces(logged.place, start.place) > 0 || index > start.index)
      .map((one) => ({ logged, one })),
  )
  return save(ctx, replay, { wanted, place: read.place, isOver: comparePlaces(read.place, end) >= 0 })
}

/** The event after which a replay starts, and the place from which the rest of the event itself is read too. */
async function startOf(pool: Pool, owner: LogOwner, id: string) {
  const name = parsePublicEventId(id)
  const logged = name && (await findLogged(pool, owner, name))
  if (name === undefined || logged === undefined) return null
  const { place } = logged
  return { place, index: name.index, from: placeBefore(place) }
}

type Part = {
  readonly wanted: readonly { readonly logged: LoggedEvent; readonly one: RenderedEvent }[]
  readonly place: SubscriptionPosition
  readonly isOver: boolean
}

/** @returns false when another process has gone further */
async function save(
  { pool, newId, clock }: LeaderContext,
  { row, place: before, target }: OpenReplay,
  { wanted, place, isOver }: Part,
): Promise<boolean> {
  const { rows } = await pool.query<{ saved: boolean }>({
    name: 'add_replayed',
    text: ADD,
    values: [
      row.replay_id,
      place.transactionId.toString(),
      place.position.toString(),
      wanted.length,
      isOver,
      new Date(clock()),
      before.transactionId.toString(),
      before.position.toString(),
      row.webhook_id,
      row.tenant_id,
      wanted.map(() => newId('delivery')),
      wanted.map(({ one }) => one.event.id),
      wanted.map(({ one }) => one.event.type),
      wanted.map(({ one }) => orderOf(one.event)),
      wanted.map(({ logged }) => logged.place.transactionId.toString()),
      wanted.map(({ logged }) => logged.place.position.toString()),
      wanted.map(({ one }) => one.index),
      target.payload,
    ],
  })
  return rows[0]?.saved ?? false
}

/** Queues what was given up before the request, a part at a time. @returns whether it moved on */
async function retryFailed({ pool, clock }: LeaderContext, { row }: OpenReplay): Promise<boolean> {
  const first = row.after === null ? undefined : parsePublicEventId(row.after)
  await pool.query({
    name: 'retry_failed_deliveries',
    text: RETRY_FAILED,
    values: [
      row.replay_id,
      row.webhook_id,
      row.requested_at,
      new Date(clock()),
      row.types === null ? null : JSON.stringify(row.types),
      row.from_at,
      row.to_at,
      first?.streamId ?? null,
      first?.streamVersion ?? null,
      PART,
    ],
  })
  return true
}

async function isBehind(pool: Pool, webhookId: string): Promise<boolean> {
  const { rows } = await pool.query<{ pending: string }>({
    name: 'count_pending_deliveries',
    text: `SELECT count(*) AS pending FROM (SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND ${PENDING} LIMIT ${MOST_PENDING}) AS waiting`,
    values: [webhookId],
  })
  return Number(rows[0]?.pending ?? 0) >= MOST_PENDING
}

const ADD = `WITH saved AS (
    UPDATE webhook_replay_progress SET transaction_id = $2::xid8, position = $3::bigint, added = added + $4::integer, advanced_at = $6,
           ended_at = CASE WHEN $5::boolean THEN $6::timestamptz END
     WHERE replay_id = $1 AND transaction_id = $7::xid8 AND position = $8::bigint AND ended_at IS NULL
    RETURNING replay_id
  ), added AS (
    INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, payload, replay_id, due_at, created_at)
    SELECT d.delivery_id, $9::text, $10::text, d.event_id, d.type, d.stream_id, d.transaction_id, d.position, d.part, $18::text, $1, $6, $6
      FROM unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::xid8[], $16::bigint[], $17::integer[])
        AS d(delivery_id, event_id, type, stream_id, transaction_id, position, part)
     WHERE EXISTS (SELECT FROM saved))
  SELECT EXISTS (SELECT FROM saved) AS saved`

// What is given up again ends after the request, and is not taken twice. Each was counted as a gap, and is none any more.
const RETRY_FAILED = `WITH failed AS (
    SELECT d.delivery_id FROM webhook_deliveries AS d JOIN ${EVENTS} AS e ON e.position = d.position
      LEFT JOIN ${EVENTS} AS start ON start.stream_id = $8 AND start.stream_version = $9::integer
     WHERE d.webhook_id = $2 AND d.state = 'failed' AND d.ended_at < $3
       AND ($5::jsonb IS NULL OR $5::jsonb ? d.type)
       AND ($6::timestamptz IS NULL OR e.recorded_at >= $6) AND ($7::timestamptz IS NULL OR e.recorded_at < $7)
       AND ($8::text IS NULL OR (d.transaction_id, d.position) > (start.transaction_id, start.position))
     ORDER BY d.delivery_id LIMIT $10
  ), queued AS (
    UPDATE webhook_deliveries AS d SET state = 'pending', due_at = $4, ended_at = NULL FROM failed
     WHERE d.webhook_id = $2 AND d.delivery_id = failed.delivery_id
    RETURNING d.delivery_id
  ), health AS (
    UPDATE webhook_health SET paused_until = NULL, gaps = greatest(gaps - (SELECT count(*) FROM queued), 0) WHERE webhook_id = $2
  )
  UPDATE webhook_replay_progress SET added = added + moved.count, advanced_at = $4,
         ended_at = CASE WHEN moved.count < $10 THEN $4::timestamptz END
    FROM (SELECT count(*) FROM queued) AS moved WHERE replay_id = $1`
