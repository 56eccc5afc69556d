/** What requests that change nothing do: their keys are kept. `event-log/accept.ts` records them. */
import type { Capability } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { requestAggregate } from '../event-log/request-aggregate.ts'
import { explainedRequest } from './explained.ts'

export const requests: Capability = {
  aggregates: [anyAggregate(requestAggregate)],
  explains: [explainedRequest],
}
