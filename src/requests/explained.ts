/** How `explain` reports a request that changed nothing. */
import { explained } from '../capability.ts'
import { requestAggregate } from '../event-log/request-aggregate.ts'

export const explainedRequest = explained(requestAggregate, {
  kind: 'request',
  noun: 'request',
  texts: {
    RequestChangedNothing: ({ resourceId }) =>
      `accepted: ${resourceId} already was as requested, so only the idempotency key was recorded`,
  },
})
