/** The stream of a request that changed nothing: one event, and no rows but its idempotency key. Pure. */
import { type Aggregate, opensItself } from './aggregate.ts'
import { type RequestCommand, type RequestState, requestDecider } from './request-decider.ts'
import type { RequestEvent } from './request-events.ts'

export const requestAggregate: Aggregate<RequestState, RequestCommand, RequestEvent> = {
  ...requestDecider,
  category: 'request',
  schemas: { RequestChangedNothing: { version: 1, upcasters: [] } },
  project: () => ({ rows: [], holds: [] }),
  hasEnded: ({ isRecorded }) => isRecorded,
  opens: opensItself<RequestEvent>('RequestChangedNothing'),
}
