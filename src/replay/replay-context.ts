/** What the commands of this folder have. Types alone. */
import type { Context } from '../context.ts'
import type { AnyAggregate } from '../event-log/fold.ts'

export type ReplayContext = Pick<Context, 'pool' | 'clock'> & {
  /** Every aggregate whose streams the log holds. */
  readonly aggregates: readonly AnyAggregate[]
}
