/** The stream of the database. It has no rows: its readers load it. */
import type { Aggregate } from '../event-log/aggregate.ts'
import { type DatabaseCommand, type DatabaseState, databaseDecider } from './decider.ts'
import type { DatabaseEvent } from './events.ts'

const first = { version: 1, upcasters: [] }

export const databaseAggregate: Aggregate<DatabaseState, DatabaseCommand, DatabaseEvent> = {
  ...databaseDecider,
  category: 'database',
  schemas: { DatabaseIdentified: first, RestoreDetected: first },
  project: () => ({ rows: [], holds: [] }),
}
