/**
 * Chooses what is sent to a webhook next.
 *
 * Invariant: of the deliveries of one webhook, line and stream, one is sent only after all before it have ended, except
 * for one that its owner asked for; so the events of a resource arrive in their order, unless one was given up.
 */
import type { Context } from '../context.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { Payload } from './events.ts'
import type { Line } from './line.ts'
import { ASKED, isDue, isNext, isUntried, LIVE, MOST_PENDING, REPLAYED, TRIED } from './sql.ts'

export type Pending = Pick<
  Row<'webhook_deliveries'>,
  'delivery_id' | 'event_id' | 'stream_id' | 'attempts' | 'type' | 'is_asked' | 'due_at'
> & { readonly payload: Payload }

/** What is sent beside what the owner asked for: nothing; one, to try the receiver; types that it was not sent yet; or all. */
export type Choice = {
  readonly line: Line
  readonly rest: 'none' | 'untried' | 'probe' | 'all'
  /** Whether its owner asked for some. */
  readonly isAsked: boolean
  /** Whether some wait for their next attempt. */
  readonly isWaiting: boolean
}

export type Next = {
  readonly deliveries: readonly Pending[]
  /** Whether there may be more. */
  readonly isFull: boolean
}

/** Deliveries of a round: they are recorded together. */
const ROUND = 256
/** Of them so many may have failed before: those that did not are never behind them. */
const TRIED_AT_ONCE = 64
/** Requests that an owner can have sent at once. */
const ASKED_AT_ONCE = 8

/** Deliveries of earlier versions have no payload of their own. */
const COLUMNS = `d.delivery_id, d.event_id, d.stream_id, d.attempts, d.type, d.due_at,
  d.is_asked OR (d.type = 'webhook.test' AND d.attempts = 0) AS is_asked,
  coalesce(d.payload, (SELECT w.payload FROM webhooks AS w WHERE w.webhook_id = $1)) AS payload`
const CHOSEN = 'd.delivery_id, d.event_id, d.stream_id, d.attempts, d.type, d.due_at, d.is_asked, d.payload'
const PLACE = 'd.transaction_id, d.position, d.part'
const of = ({ isReplay }: Line) =>
  `FROM webhook_deliveries AS d WHERE d.webhook_id = $1 AND ${isReplay ? REPLAYED : LIVE}`

/** What is sent next. */
export async function nextDeliveries(
  ctx: Pick<Context, 'pool' | 'clock'>,
  { line, rest, isAsked, isWaiting }: Choice,
): Promise<Next> {
  const now = () => new Date(ctx.clock())
  const asked = isAsked ? await read(ctx, line, 'asked', ASKED_FIRST) : []
  const others = {
    none: async () => [],
    untried: () => read(ctx, line, 'untried', untriedOf(line), now()),
    probe: () => read(ctx, line, 'probe', probeOf(line), now()),
    all: () => all(ctx, line, isWaiting),
  }
  const ids = new Set(asked.map(({ delivery_id }) => delivery_id))
  const found = await others[rest]()
  const deliveries = [...asked, ...found.filter(({ delivery_id }) => !ids.has(delivery_id))]
  return { deliveries, isFull: rest === 'probe' || found.length === ROUND || asked.length === ASKED_AT_ONCE }
}

async function all(ctx: Pick<Context, 'pool' | 'clock'>, line: Line, isWaiting: boolean): Promise<readonly Pending[]> {
  const now = new Date(ctx.clock())
  const tried = isWaiting ? await read(ctx, line, 'tried', triedOf(line), now) : []
  return [...(await read(ctx, line, 'fresh', freshOf(line), now, ROUND - tried.length)), ...tried]
}

async function read(
  { pool }: Pick<Context, 'pool'>,
  { webhookId, isReplay }: Line,
  name: string,
  text: string,
  ...values: readonly unknown[]
): Promise<readonly Pending[]> {
  const named = `${name}_${isReplay ? 'replays' : 'deliveries'}`
  const { rows } = await pool.query<Pending>({ name: named, text, values: [webhookId, ...values] })
  return rows
}

const ASKED_FIRST = `SELECT ${COLUMNS} FROM webhook_deliveries AS d
  WHERE d.webhook_id = $1 AND ${ASKED} ORDER BY ${PLACE} LIMIT ${ASKED_AT_ONCE}`

const triedOf = (line: Line) =>
  `SELECT ${COLUMNS} ${of(line)} AND ${TRIED} AND ${isNext('$2')} ORDER BY d.due_at LIMIT ${TRIED_AT_ONCE}`

const freshOf = (line: Line) =>
  `SELECT ${COLUMNS} ${of(line)} AND d.attempts = 0 AND ${isNext('$2')} ORDER BY ${PLACE} LIMIT $3`

/** The first delivery of each resource, if it is due, with what is chosen by. */
const firstsOf = (line: Line) => `WITH pending AS (
    SELECT ${COLUMNS}, d.state, ${PLACE}, row_number() OVER (PARTITION BY d.stream_id ORDER BY ${PLACE}) AS n
      FROM (SELECT d.* ${of(line)} ORDER BY ${PLACE} LIMIT ${MOST_PENDING}) AS d
  ), d AS MATERIALIZED (SELECT * FROM pending WHERE n = 1 AND ${isDue('$2')})`

/** The planner looks first whether there is any. */
const untriedOf = (line: Line) => `${firstsOf(line)}
  SELECT ${CHOSEN} FROM webhook_health AS h CROSS JOIN d
   WHERE h.webhook_id = $1 AND d.attempts = 0 AND d.type <> ALL (h.refused_types)
     AND EXISTS (SELECT FROM webhook_health AS h JOIN webhook_deliveries AS any_untried USING (webhook_id) WHERE h.webhook_id = $1 AND ${isUntried('h')})
   ORDER BY ${PLACE} LIMIT ${ROUND}`

/** Not always the oldest: types take turns, and of a type the one with the fewest attempts. */
const probeOf = (line: Line) => `${firstsOf(line)}, turns AS (
    SELECT type, row_number() OVER (ORDER BY type) - 1 AS turn, count(*) OVER () AS types FROM (SELECT DISTINCT type FROM d) AS due_types
  )
  SELECT ${CHOSEN} FROM d JOIN turns USING (type)
   WHERE turn = coalesce((SELECT failures + replays_refused FROM webhook_health WHERE webhook_id = $1), 0) % types
   ORDER BY d.attempts, d.due_at, ${PLACE} LIMIT 1`
