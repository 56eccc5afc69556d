/**
 * The outcome of an NFT operation, derived only from its transaction: a reorg undoes it and a crash loses nothing,
 * without a separate event.
 */
import { sqlList } from '../core/sql-list.ts'
import type { Row } from '../event-log/table-rows.ts'

/** The columns of `transactions` that determine the outcome. */
export type TransactionFate = Pick<Row<'transactions'>, 'state' | 'succeeded'>

const FATE_COLUMNS = ['state', 'succeeded', 'hash', 'failure'] as const

/** The columns of a row `x` of `transactions` that the view of its resource contains. */
export const FATE = FATE_COLUMNS.map((column) => `x.${column}`).join(', ')
export type Fate = Pick<Row<'transactions'>, (typeof FATE_COLUMNS)[number]>

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
