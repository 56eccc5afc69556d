/**
 * Open transactions that readers of the log wait for. A reader takes only rows older than every transaction that may
 * still write, so one that stays open, in any database of the server, hides all later events from all subscriptions.
 */
import type { Pool } from 'pg'

/** Limit on idle time in an open transaction, in milliseconds; the server then ends the session. */
export const IDLE_IN_TRANSACTION_MS = 60_000

export type OpenTransaction = {
  /** Of its session; `null` for a prepared transaction. */
  readonly pid: number | null
  /** The name of a prepared transaction. */
  readonly prepared: string | null
  readonly database: string | null
  readonly user: string | null
  readonly application: string | null
  /** From `pg_stat_activity`, or `prepared`; `null` when the server hides it. */
  readonly state: string | null
  /** The beginning of its latest statement; `null` when the server hides it, and for a prepared transaction. */
  readonly query: string | null
  /** Milliseconds since it began; `null` when the server hides it. */
  readonly ageMs: number | null
  /** The role used for the query: the owner of the tables. */
  readonly seenAs: string
}

export type OpenTransactions = {
  /** Oldest first. */
  readonly transactions: readonly OpenTransaction[]
  /** Age in ms of the oldest event that cannot be read yet; 0 when there is none. */
  readonly waitingMs: number
}

/** Needs the database role of the API or of the operator. */
export async function readOpenTransactions(pool: Pick<Pool, 'query'>): Promise<OpenTransactions> {
  const [open, waiting] = await Promise.all([
    pool.query<OpenTransaction>(
      `SELECT pid, prepared, database, "user", application, state, query, age_ms AS "ageMs", seen_as AS "seenAs" FROM open_transactions()`,
    ),
    pool.query<{ ms: number }>(
      `SELECT extract(epoch FROM clock_timestamp() - recorded_at)::double precision * 1000 AS ms FROM events
        WHERE transaction_id >= pg_snapshot_xmin(pg_current_snapshot()) ORDER BY transaction_id, position LIMIT 1`,
    ),
  ])
  return { transactions: open.rows, waitingMs: Math.max(0, waiting.rows[0]?.ms ?? 0) }
}

/**
 * The transactions that have been open longer than this, with their age. When the age is hidden, the waiting time of
 * the oldest unreadable event is used instead.
 */
export function openFor(
  { transactions, waitingMs }: OpenTransactions,
  longerThanMs: number,
): readonly (OpenTransaction & { readonly openMs: number })[] {
  return transactions
    .map((transaction) => ({ ...transaction, openMs: transaction.ageMs ?? waitingMs }))
    .filter(({ openMs }) => openMs > longerThanMs)
}
