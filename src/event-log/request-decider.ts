/** A request that changed nothing is recorded once. Pure. */
import type { Decider } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { RequestEvent } from './request-events.ts'

export type RequestState = { readonly isRecorded: boolean }

export type RequestCommand = {
  readonly type: 'RecordRequest'
  readonly resourceId: string
  readonly environment: Environment
  readonly now: string
}

export const requestDecider: Decider<RequestState, RequestCommand, RequestEvent> = {
  initialState: { isRecorded: false },
  decide: ({ resourceId, environment, now }, { isRecorded }) =>
    isRecorded ? [] : [{ type: 'RequestChangedNothing', data: { resourceId, environment, answeredAt: now } }],
  evolve: () => ({ isRecorded: true }),
}
