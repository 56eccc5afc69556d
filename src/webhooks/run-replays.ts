/**
 * Carries out replays: adds deliveries for events of the past, a part at a time. The deliveries of a part and how far the
 * replay is are saved by one statement, so that each event is added once for a replay, whenever the process dies.
 */
import type { Pool } from 'pg'
import { parsePublicEventId } from '../core/event-ids.ts'
import type { Clock } from '../core/ids.ts'
import type { NewId } from '../declarations.ts'
import { findLogged, type LoggedEvent, readTenantLog } from '../event-log/read-logged.ts'
import { EVENTS } from '../event-log/sql.ts'
import { comparePlaces, LOG_START, placeBefore, type SubscriptionPosition } from '../event-log/subscription.ts'
import type { OrNull, Row } from '../event-log/table-rows.ts'
import { orderOf, type RenderEvents, type RenderedEvent } from './fan-out.ts'
import { PENDING } from './sql.ts'
import { mayWant, type Target, TEST, wants } from './targets.ts'

/** Events of the log that are read at once. */
const PART = 500
/** Above this number of pending deliveries of its webhook, a replay waits: its receiver is slower than the log. */
const MOST_PENDING = 10_000
/** A replay that could not be carried out by then is not: the log may have come from another installation. */
const EXPIRES_AFTER_MS = 7 * 86_400_000

export type RunReplaysPorts = {
  readonly pool: Pool
  readonly render: RenderEvents
  readonly newId: NewId
  readonly clock: Clock
  /** Tells the senders of webhooks that have something to be sent. A hint: it may be lost. */
  readonly tell: (webhookIds: Iterable<string>) => void
}

type Json = { readonly types: readonly string[] | null }
type OpenRow = Row<'webhook_replays', Json> &
  OrNull<Pick<Row<'webhook_replay_progress'>, 'position'>> & {
    readonly transaction_id: string | null
    readonly end_transaction_id: string
    readonly end_position: string
    readonly sent_types: readonly string[] | null
    readonly wallet_ids: readonly string[] | null
  }

type OpenReplay = {
  readonly row: OpenRow
  /** Null before the first part. */
  readonly place: SubscriptionPosition | null
  /** The place of the event that requested it. */
  readonly end: SubscriptionPosition
  readonly target: Target
}

/** Works until no replay can go on, or the signal aborts. @throws database errors: the caller starts again */
export async function runReplays(ports: RunReplaysPorts, signal: AbortSignal): Promise<void> {
  for (let goesOn = true; goesOn && !signal.aborted; ) {
    goesOn = false
    for (const replay of await openReplays(ports)) {
      if (signal.aborted) return
      const moved = replay.row.only_failed ? await retryFailed(ports, replay) : await addPart(ports, replay)
      if (moved) ports.tell([replay.row.webhook_id])
      goesOn ||= moved
    }
  }
}

async function openReplays({ pool, clock }: RunReplaysPorts): Promise<OpenReplay[]> {
  const { rows } = await pool.query<OpenRow>({
    name: 'open_webhook_replays',
    text: `SELECT r.*, p.transaction_id::text, p.position, w.types AS sent_types, w.wallet_ids,
                  e.transaction_id::text AS end_transaction_id, e.position AS end_position
             FROM webhook_replays AS r JOIN webhooks AS w USING (webhook_id)
             JOIN ${EVENTS} AS e ON e.stream_id = 'webhook-' || r.webhook_id AND e.stream_version = r.version
             LEFT JOIN webhook_replay_progress AS p USING (replay_id)
            WHERE r.requested_at > $1 AND p.ended_at IS NULL AND w.status <> 'deleted' ORDER BY r.replay_id`,
    values: [new Date(clock() - EXPIRES_AFTER_MS)],
  })
  return rows.map((row) => ({
    row,
    place: row.transaction_id === null ? null : placeOf(row.transaction_id, row.position ?? '0'),
    end: placeOf(row.end_transaction_id, row.end_position),
    target: {
      webhookId: row.webhook_id,
      tenantId: row.tenant_id,
      environment: row.environment,
      createdAt: LOG_START,
      types: setOf(row.types ?? row.sent_types),
      walletIds: setOf(row.wallet_ids),
    },
  }))
}

/** @returns whether it moved on */
async function addPart(ports: RunReplaysPorts, replay: OpenReplay): Promise<boolean> {
  const { pool, render } = ports
  const { row, target, end } = replay
  if (await isBehind(pool, row.webhook_id)) return false
  const first = row.after === null ? null : await firstAfter(pool, target, row.after)
  const events = await readTenantLog(pool, target, replay.place ?? first?.from ?? LOG_START, PART)
  const last = events.at(-1)
  // At least its own event comes, once it is older than every running transaction.
  if (last === undefined) return false
  const within = events.filter(({ place, recordedAt }) => comparePlaces(place, end) < 0 && isWithin(row, recordedAt))
  const rendered = await render(within, (publisher, logged) => mayWant(target, publisher, logged))
  const wanted = within.flatMap((logged, n) =>
    (rendered[n] ?? [])
      .filter((one) => one.event.type !== TEST && wants(target, one.event))
      .filter(
        ({ index }) => !(first !== null && comparePlaces(logged.place, first.place) === 0 && index <= first.index),
      )
      .map((one) => ({ logged, one })),
  )
  return save(ports, replay, { wanted, place: last.place, isOver: comparePlaces(last.place, end) >= 0 })
}

/** The place from which the rest of the event itself is read too. */
async function firstAfter(pool: Pool, owner: Target, id: string) {
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
  { pool, newId, clock }: RunReplaysPorts,
  { row, place: before }: OpenReplay,
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
      before?.transactionId.toString() ?? null,
      before?.position.toString() ?? null,
      row.webhook_id,
      row.tenant_id,
      wanted.map(() => newId('delivery')),
      wanted.map(({ one }) => one.event.id),
      wanted.map(({ one }) => one.event.type),
      wanted.map(({ one }) => orderOf(one.event)),
      wanted.map(({ logged }) => logged.place.transactionId.toString()),
      wanted.map(({ logged }) => logged.place.position.toString()),
      wanted.map(({ one }) => one.index),
    ],
  })
  return rows[0]?.saved ?? false
}

/** Queues what was given up before the request, a part at a time. @returns whether it moved on */
async function retryFailed({ pool, clock }: RunReplaysPorts, { row, end }: OpenReplay): Promise<boolean> {
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
      end.transactionId.toString(),
      end.position.toString(),
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

function isWithin({ from_at, to_at }: OpenRow, recordedAt: string): boolean {
  const at = Date.parse(recordedAt)
  return (from_at === null || at >= from_at.getTime()) && (to_at === null || at < to_at.getTime())
}

function placeOf(transactionId: string, position: string): SubscriptionPosition {
  return { transactionId: BigInt(transactionId), position: BigInt(position) }
}

function setOf(items: readonly string[] | null): ReadonlySet<string> | null {
  return items === null ? null : new Set(items)
}

const ADD = `WITH saved AS (
    INSERT INTO webhook_replay_progress AS p (replay_id, transaction_id, position, added, ended_at)
    VALUES ($1, $2::xid8, $3::bigint, $4::integer, CASE WHEN $5::boolean THEN $6::timestamptz END)
    ON CONFLICT (replay_id) DO UPDATE SET transaction_id = excluded.transaction_id, position = excluded.position,
      added = p.added + excluded.added, ended_at = excluded.ended_at
     WHERE p.transaction_id = $7::xid8 AND p.position = $8::bigint AND p.ended_at IS NULL
    RETURNING replay_id
  ), added AS (
    INSERT INTO webhook_deliveries (delivery_id, webhook_id, tenant_id, event_id, type, stream_id, transaction_id, position, part, replay_id, due_at, created_at)
    SELECT d.delivery_id, $9::text, $10::text, d.event_id, d.type, d.stream_id, d.transaction_id, d.position, d.part, $1, $6, $6
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
     ORDER BY d.delivery_id LIMIT $12
  ), queued AS (
    UPDATE webhook_deliveries AS d SET state = 'pending', due_at = $4, ended_at = NULL FROM failed WHERE d.delivery_id = failed.delivery_id
    RETURNING d.delivery_id
  ), health AS (
    UPDATE webhook_health SET paused_until = NULL, gaps = greatest(gaps - (SELECT count(*) FROM queued), 0) WHERE webhook_id = $2
  )
  INSERT INTO webhook_replay_progress AS p (replay_id, transaction_id, position, added, ended_at)
  SELECT $1, $10::xid8, $11::bigint, count(*), CASE WHEN count(*) < $12 THEN $4::timestamptz END FROM queued
  ON CONFLICT (replay_id) DO UPDATE SET added = p.added + excluded.added, ended_at = excluded.ended_at`
