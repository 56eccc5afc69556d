/** The event of a request that changed nothing: its `Idempotency-Key` needs an event of the same append that names it. */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

export type RequestChangedNothing = Event<
  'RequestChangedNothing',
  {
    /** What was to be changed, and already was as requested: the id of a transaction or an asset, for example. */
    readonly resourceId: string
    /** That of the resource: readers of the other one do not see the event. */
    readonly environment: Environment
    readonly answeredAt: string
  }
>

export type RequestEvent = RequestChangedNothing
