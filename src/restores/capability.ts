/** What restores do: they are recorded. Signers look for them (`compose/restores.ts`). */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { databaseAggregate } from './aggregate.ts'

export const restores: Capability = { aggregates: [anyAggregate(databaseAggregate)] }
