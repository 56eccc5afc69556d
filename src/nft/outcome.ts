/**
 * The outcome of an NFT operation, derived only from its transaction: a reorg undoes it and a crash loses nothing,
 * without a separate event.
 */
import { sqlList } from '../core/sql-list.ts'

/** The columns of `transactions` that determine the outcome. */
export type TransactionFate = { readonly state: string; readonly succeeded: boolean | null }

/** `done` once mined; `failed` only when no block can change it any more. */
export type Outcome = 'pending' | 'done' | 'failed'

const ENDED_BADLY = ['failed', 'cancelled', 'reverted'] as const

/** SQL for a row `x` of `transactions`: same as `failed` in `outcomeOf`. */
export const FAILED_IN_SQL = `coalesce(x.state IN ${sqlList(ENDED_BADLY)}, false)`

/** SQL for a row of `transactions` with that name: same as `done` in `outcomeOf`. */
export function doneInSql(row: string): string {
  return `coalesce(${row}.state IN ('mined', 'confirmed') AND ${row}.succeeded, false)`
}

export function outcomeOf({ state, succeeded }: TransactionFate): Outcome {
  if ((ENDED_BADLY as readonly string[]).includes(state)) return 'failed'
  return (state === 'mined' || state === 'confirmed') && succeeded === true ? 'done' : 'pending'
}
