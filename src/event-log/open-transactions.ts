/**
 * Transactions that readers of the log wait for. A reader takes what is older than every transaction that may still write, so one
 * that is left open, in any database of the server, keeps everything that is appended after it from all subscriptions.
 */
import type { Pool } from 'pg'

/** Sessions that have a transaction open are idle for this long at most, in milliseconds; then the server ends them. */
export const IDLE_IN_TRANSACTION_MS = 60_000

export type OpenTransaction = {
  /** Of its session; `null` of a prepared transaction, which has none. */
  readonly pid: number | null
  /** The name of a prepared transaction. */
  readonly prepared: string | null
  readonly database: string | null
  readonly user: string | null
  readonly application: string | null
  /** As `pg_stat_activity` has it, or `prepared`; `null` where the server hides it. */
  readonly state: string | null
  /** The beginning of its newest statement; `null` where the server hides it, and of a prepared transaction. */
  readonly query: string | null
  /** Since it began; `null` where the server hides it. */
  readonly ageMs: number | null
  /** As whom the server was asked: the owner of the tables. */
  readonly seenAs: string
}

export type OpenTransactions = {
  /** The oldest first. */
  readonly transactions: readonly OpenTransaction[]
  /** How long the oldest event has waited that may not be read yet; 0 where there is none. */
  readonly waitingMs: number
}

/** Needs the role of the API or of the operator. */
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
 * Those that have been open for longer than this, with how long that is. Where the age of one is hidden, events have waited for it at
 * least as long as for anything else.
 */
export function openFor(
  { transactions, waitingMs }: OpenTransactions,
  longerThanMs: number,
): readonly (OpenTransaction & { readonly openMs: number })[] {
  return transactions
    .map((transaction) => ({ ...transaction, openMs: transaction.ageMs ?? waitingMs }))
    .filter(({ openMs }) => openMs > longerThanMs)
}
