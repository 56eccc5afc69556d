/**
 * What has become of an NFT operation, told by its transaction and nothing else: a reorg takes it back and a crash loses
 * nothing, without an event of its own.
 */
import { sqlList } from '../core/sql-list.ts'

/** The columns of `transactions` that tell. */
export type TransactionFate = { readonly state: string; readonly succeeded: boolean | null }

/** `done` from the block on; `failed` only when no block can change it any more. */
export type Outcome = 'pending' | 'done' | 'failed'

const ENDED_BADLY = ['failed', 'cancelled', 'reverted'] as const

/** Of a row `x` of `transactions`, in SQL: what `outcomeOf` calls failed. */
export const FAILED_IN_SQL = `coalesce(x.state IN ${sqlList(ENDED_BADLY)}, false)`

/** Of a row of `transactions` by that name, in SQL: what `outcomeOf` calls done. */
export function doneInSql(row: string): string {
  return `coalesce(${row}.state IN ('mined', 'confirmed') AND ${row}.succeeded, false)`
}

export function outcomeOf({ state, succeeded }: TransactionFate): Outcome {
  if ((ENDED_BADLY as readonly string[]).includes(state)) return 'failed'
  return (state === 'mined' || state === 'confirmed') && succeeded === true ? 'done' : 'pending'
}
