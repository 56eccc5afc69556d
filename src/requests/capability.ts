/** What requests that change nothing do: their keys are kept. `event-log/accept.ts` records them. */
import { type Capability, explained } from '../capability.ts'
import { anyAggregate } from '../event-log/fold.ts'
import { requestAggregate } from '../event-log/request-aggregate.ts'

/** How `explain` reports a request that changed nothing. */
const explainedRequest = explained(requestAggregate, {
  prefix: 'req',
  noun: 'request',
  texts: {
    RequestChangedNothing: ({ resourceId }) =>
      `accepted: ${resourceId} already was as requested, so only the idempotency key was recorded`,
  },
})

export const requests: Capability = {
  aggregates: [anyAggregate(requestAggregate)],
  explains: [explainedRequest],
}
