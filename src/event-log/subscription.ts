/**
 * Reads the log in an order without gaps, from a checkpoint, continuously. A sequence alone would skip an event whose
 * transaction commits late; so only rows of transactions older than every running one are read, by (transaction,
 * position).
 *
 * Invariant: each event is delivered at least once and in the same order to every reader; a batch is delivered again
 * until it is committed.
 */
import type { Pool } from 'pg'
import { DATABASE_EPOCH } from './database-epoch.ts'
import { pause } from './lead.ts'
import type { EventRow } from './rows.ts'
import { SAVE_CHECKPOINT } from './sql.ts'
import type { Row } from './table-rows.ts'
import type { Wake, WakeUps } from './wake-ups.ts'

/** A place in the reading order. */
export type SubscriptionPosition = { readonly transactionId: bigint; readonly position: bigint }

export const LOG_START: SubscriptionPosition = { transactionId: 0n, position: 0n }

/** In reading order, as `Array.prototype.sort` expects it. */
export function comparePlaces(a: SubscriptionPosition, b: SubscriptionPosition): number {
  const difference = a.transactionId === b.transactionId ? a.position - b.position : a.transactionId - b.transactionId
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** The place after which to read, so that the event at this place comes first. */
export function placeBefore(place: SubscriptionPosition): SubscriptionPosition {
  return { ...place, position: place.position - 1n }
}

/** An event without its payload: type, stream and place. A reader that needs all of it loads the stream. */
export type Notice = {
  readonly type: string
  readonly streamId: string
  readonly tenantId: string
  /** As stored, for the types whose data were requested; else `null`. */
  readonly data: unknown
}

export type Batch = {
  readonly events: readonly Notice[]
  readonly checkpoint: SubscriptionPosition
  readonly commit: () => Promise<void>
}

/** Polling interval: a wake-up may be lost. */
const POLL_MS = 1_000
/** The same when nothing was appended for a while: the longest delay that a lost wake-up can cause. */
const QUIET_POLL_MS = 5_000
const QUIET_AFTER_MS = 10_000
const BATCH_SIZE = 1_000
/** Minimum time between batches under load: processing a batch costs much the same for one event as for a hundred. */
const MIN_INTERVAL_MS = 50

/**
 * One batch after a checkpoint; empty when no new event can be read safely.
 *
 * @param dataOf event types whose data are needed: signed bytes are most of the log, and few readers need them
 * @param epoch of the database from which the checkpoint is; a database restored since then gives no event
 */
export async function readAfter(
  pool: Pool,
  after: SubscriptionPosition,
  limit: number,
  { dataOf = [], epoch = null }: { readonly dataOf?: readonly string[]; readonly epoch?: string | null } = {},
): Promise<{ events: Notice[]; checkpoint: SubscriptionPosition }> {
  const { rows } = await pool.query<NoticeRow>({
    name: 'read_log',
    text: `SELECT position, transaction_id::text, stream_id, type, metadata->>'tenantId' AS tenant_id,
                  CASE WHEN type = ANY ($4::text[]) THEN data END AS data FROM events
            WHERE (transaction_id, position) > ($1::xid8, $2::bigint) AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
              AND ($5::text IS NULL OR $5 = ${DATABASE_EPOCH})
            ORDER BY events.transaction_id, position LIMIT $3`,
    values: [after.transactionId.toString(), after.position.toString(), limit, dataOf, epoch],
  })
  const last = rows.at(-1)
  return {
    events: rows.map((row) => ({ type: row.type, streamId: row.stream_id, tenantId: row.tenant_id, data: row.data })),
    checkpoint: last ? { transactionId: BigInt(last.transaction_id), position: BigInt(last.position) } : after,
  }
}

/** How long to wait for a wake-up before the log is read again. @param sinceMs since the last event was read */
export function pollMs(sinceMs: number): number {
  return sinceMs < QUIET_AFTER_MS ? POLL_MS : QUIET_POLL_MS
}

type NoticeRow = Pick<EventRow, 'position' | 'transaction_id' | 'stream_id' | 'type' | 'data'> & {
  readonly tenant_id: string
}

/** The checkpoint of a named subscription. */
export async function loadCheckpoint(pool: Pool, name: string): Promise<SubscriptionPosition> {
  const { rows } = await pool.query<Pick<Row<'checkpoints'>, 'position'> & Pick<EventRow, 'transaction_id'>>(
    'SELECT transaction_id::text, position FROM checkpoints WHERE name = $1',
    [name],
  )
  const [row] = rows
  return row ? { transactionId: BigInt(row.transaction_id), position: BigInt(row.position) } : LOG_START
}

/**
 * Saves the progress of a subscription; never moves it back. Does not wait for the disk: after a crash of the database
 * the last batches are delivered again, which subscribers handle anyway.
 *
 * @param epoch under which it was read: a database restored since then does not accept it
 */
export async function saveCheckpoint(
  pool: Pool,
  name: string,
  checkpoint: SubscriptionPosition,
  epoch: string | null = null,
): Promise<void> {
  await pool.query({
    name: 'save_checkpoint',
    text: `WITH hint AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)), saved AS (${SAVE_CHECKPOINT}) SELECT FROM hint`,
    values: [name, checkpoint.transactionId.toString(), checkpoint.position.toString(), epoch],
  })
}

/** A checkpoint with the epoch of the database that it is from. */
export type Place = { readonly checkpoint: SubscriptionPosition; readonly epoch: string }

/** Where a named subscription continues. */
export async function loadPlace(pool: Pool, name: string): Promise<Place> {
  const epoch = await readEpoch(pool)
  return { checkpoint: await loadCheckpoint(pool, name), epoch }
}

async function readEpoch(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ epoch: string }>({
    name: 'database_epoch',
    text: `SELECT ${DATABASE_EPOCH} AS epoch`,
  })
  return rows[0]?.epoch ?? ''
}

/**
 * Follows the log from the checkpoint saved under `name` until the signal aborts.
 *
 * @throws database errors: the caller starts again, from the last committed batch
 */
export async function* subscribe(settings: {
  readonly pool: Pool
  readonly wakeUps: WakeUps
  readonly name: string
  readonly signal: AbortSignal
  readonly dataOf?: readonly string[]
  /** Whether an append is to be read at once; others are read with the next one, or within a second. By default all are. */
  readonly isUrgent?: (wake: Wake) => boolean
}): AsyncGenerator<Batch> {
  const { pool, wakeUps, name, signal, dataOf = [], isUrgent } = settings
  const watch = wakeUps.watch(isUrgent)
  try {
    let place = await loadPlace(pool, name)
    let foundAt = performance.now()
    let wokenAt = foundAt
    while (!signal.aborted) {
      const { epoch } = place
      const readAt = performance.now()
      const batch = await readAfter(pool, place.checkpoint, BATCH_SIZE, { dataOf, epoch })
      if (batch.events.length > 0) {
        foundAt = readAt
        yield { ...batch, commit: () => saveCheckpoint(pool, name, batch.checkpoint, epoch) }
        place = { checkpoint: batch.checkpoint, epoch }
        if (batch.events.length === BATCH_SIZE) continue
      } else if ((await readEpoch(pool)) !== epoch) {
        // A restored database assigns numbers again that were already read: events behind the checkpoint may be new.
        place = await loadPlace(pool, name)
        continue
      }
      // The first read may miss what was told: an older transaction still runs. So there is a second one.
      const isWoken = readAt - wokenAt < MIN_INTERVAL_MS
      if (isWoken || batch.events.length > 0) await pause(MIN_INTERVAL_MS - (performance.now() - readAt), signal)
      if (!isWoken && (await watch.wait(pollMs(performance.now() - foundAt), signal))) wokenAt = performance.now()
    }
  } finally {
    watch.stop()
  }
}
