/**
 * Counts the requests of a day (UTC, by the clock of the database) towards the limits of API keys. A process takes a hundredth
 * of a limit at a time from the database, and lets requests in from that: most requests cost no query.
 *
 * Invariant: all processes together let in at most the limit, whatever ends. What is taken is counted before it is used; what a
 * process that ends has not used is lost for that day, and so is what was taken with an answer that did not arrive: a hundredth,
 * then one for each such answer.
 */
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { KeyLimitReached } from '../core/errors.ts'
import type { Clock } from '../core/ids.ts'
import { toIso } from '../core/instants.ts'
import { DAY_SECONDS, type RequestLimit } from '../core/key-limits.ts'
import { answered } from './api-key-rows.ts'

/** Far more than there are: what was taken for one that is forgotten is lost. */
const MAX_REMEMBERED = 100_000
/** How long a refusal is remembered, ms: the clock of the database may be set, and the timer stands still while a machine does. */
const REMEMBER_REFUSED_MS = 60_000

/** `leftMs`: what the day has left. `endsAt`: the next midnight, ISO 8601 UTC. */
export type Taken = { readonly granted: number; readonly leftMs: number; readonly endsAt: string }

/** Takes what is wanted, or what is left of it. @throws Unavailable `database_unavailable`: it may have been taken */
export type TakeRequests = (limit: RequestLimit, wanted: number) => Promise<Taken>

/** What is left of what this process took. By the timer, it is good until before the day ends. */
type Block = {
  left: number
  goodUntilMs: number
  taken: Taken | null
  taking: Promise<void> | null
  /** Whether the last answer did not arrive. */
  isInDoubt: boolean
}

const EMPTY: Block = { left: 0, goodUntilMs: Number.NEGATIVE_INFINITY, taken: null, taking: null, isInDoubt: false }

/**
 * Counts one request towards each of the limits, or towards none of them: the refusal, or undefined. Without a promise where no
 * query is needed.
 *
 * @throws Unavailable `database_unavailable`
 */
export type CountRequest = (
  limits: readonly RequestLimit[],
) => KeyLimitReached | undefined | Promise<KeyLimitReached | undefined>

/** @param ctx its `timer` is monotonic: ms since any moment */
export function createCountRequest({
  take,
  timer,
}: {
  readonly take: TakeRequests
  readonly timer: Clock
}): CountRequest {
  const blocks = new LRUCache<string, Block>({ max: MAX_REMEMBERED })

  function blockOf({ counter, amount }: RequestLimit): Block {
    // A limit that was changed is another one.
    const name = `${amount} ${counter}`
    const known = blocks.get(name) ?? { ...EMPTY }
    blocks.set(name, known)
    return known
  }

  async function fill(block: Block, limit: RequestLimit): Promise<void> {
    const askedMs = timer()
    const wanted = block.isInDoubt ? 1 : Math.max(1, Math.floor(Number(limit.amount) / 100))
    block.isInDoubt = true
    try {
      const taken = await take(limit, wanted)
      // The day ends no earlier: the database looked at its clock after that.
      block.goodUntilMs = askedMs + (taken.granted > 0 ? taken.leftMs : Math.min(taken.leftMs, REMEMBER_REFUSED_MS))
      block.left = taken.granted
      block.taken = taken
      block.isInDoubt = false
    } finally {
      block.taking = null
    }
  }

  /** Requests that find a block empty at the same time share one query. */
  function count(limits: readonly RequestLimit[]): ReturnType<CountRequest> {
    const nowMs = timer()
    const held = limits.map((limit) => ({ limit, block: blockOf(limit) }))
    const isGood = (block: Block) => nowMs < block.goodUntilMs
    const usedUp = held.find(({ block }) => isGood(block) && block.taken?.granted === 0)
    if (usedUp?.block.taken) return refusalOf(usedUp.limit, usedUp.block.taken.endsAt)
    const empty = held.filter(({ block }) => !isGood(block) || block.left <= 0)
    if (empty.length > 0) {
      const filled = empty.map(({ block, limit }) => {
        block.taking ??= fill(block, limit)
        return block.taking
      })
      return Promise.all(filled).then(() => count(limits))
    }
    for (const { block } of held) block.left -= 1
    return undefined
  }

  return count
}

function refusalOf({ counter, amount }: RequestLimit, availableAt: string): KeyLimitReached {
  return new KeyLimitReached(
    { counter, left: 0n, needed: 1n, availableAt },
    `The API key has 0 of ${amount} requests left today. There is room at ${availableAt}.`,
    {
      limit: amount,
      left: '0',
      needed: '1',
      unit: 'requests',
      window_seconds: DAY_SECONDS,
      available_at: availableAt,
    },
  )
}

/** As `TakeRequests`. */
export async function takeRequests(
  { pool }: Pick<Context, 'pool'>,
  { counter, amount }: RequestLimit,
  wanted: number,
): Promise<Taken> {
  const { rows } = await answered(() =>
    pool.query<{ granted: number; leftMs: number; endsAt: Date }>({
      name: 'take_requests',
      text: `SELECT t.granted AS granted, t.left_ms AS "leftMs", t.ends_at AS "endsAt" FROM take_requests($1, $2, $3) AS t`,
      values: [counter, Number(amount), wanted],
    }),
  )
  const [row] = rows
  if (row === undefined) throw new Error('take_requests returns one row')
  return { ...row, endsAt: toIso(row.endsAt) }
}

/** What processes have taken of a limit today, used or not, and when the day ends, ISO 8601 UTC. */
export type TakenBy = ReadonlyMap<string, { readonly taken: bigint; readonly endsAt: string }>

export async function readTaken(pool: Pool, limits: readonly RequestLimit[]): Promise<TakenBy> {
  if (limits.length === 0) return new Map()
  const { rows } = await pool.query<{ counter: string; taken: number; endsAt: Date }>({
    name: 'taken_requests',
    text: `SELECT r.counter AS counter, r.taken AS taken, (r.day + 1)::timestamp AT TIME ZONE 'UTC' AS "endsAt" FROM api_key_requests AS r
            WHERE r.day = (clock_timestamp() AT TIME ZONE 'UTC')::date AND r.counter = ANY ($1::text[])`,
    values: [limits.map(({ counter }) => counter)],
  })
  return new Map(rows.map(({ counter, taken, endsAt }) => [counter, { taken: BigInt(taken), endsAt: toIso(endsAt) }]))
}
