/** What the commands of this folder are handed. */
import type { Pool } from 'pg'
import type { Clock } from '../core/ids.ts'
import type { AnyAggregate } from '../event-log/fold.ts'

export type ReplayPorts = {
  readonly pool: Pool
  /** Every aggregate whose streams the log holds. */
  readonly aggregates: readonly AnyAggregate[]
  readonly clock: Clock
}
