/** The stream of a request that changed nothing: one event, and no rows but its idempotency key. Pure. */

import type { Decider } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { type Aggregate, opensItself } from './aggregate.ts'
import type { RequestEvent } from './request-events.ts'

type RequestState = { readonly isRecorded: boolean }

type RequestCommand = {
  readonly type: 'RecordRequest'
  readonly resourceId: string
  readonly environment: Environment
  readonly now: string
}

/** A request that changed nothing is recorded once. */
const requestDecider: Decider<RequestState, RequestCommand, RequestEvent> = {
  initialState: { isRecorded: false },
  decide: ({ resourceId, environment, now }, { isRecorded }) =>
    isRecorded ? [] : [{ type: 'RequestChangedNothing', data: { resourceId, environment, answeredAt: now } }],
  evolve: () => ({ isRecorded: true }),
}

export const requestAggregate: Aggregate<RequestState, RequestCommand, RequestEvent> = {
  ...requestDecider,
  category: 'request',
  schemas: { RequestChangedNothing: { version: 1, upcasters: [] } },
  project: () => ({ rows: [], holds: [] }),
  hasEnded: ({ isRecorded }) => isRecorded,
  opens: opensItself<RequestEvent>('RequestChangedNothing'),
}
