/** The event of the counters of a policy, on a stream beside that of the policy, which is read with each change. */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

/** What was spent before a shadow counts too: added to its buckets. A shadow has as many of these events as its sums need. */
export type CountersSeeded = Event<
  'CountersSeeded',
  {
    readonly tenantId: string
    readonly environment: Environment
    readonly version: number
    readonly counters: readonly SeededSum[]
    readonly seededAt: string
  }
>

export type SeededSum = {
  readonly counter: string
  /** The begin of the bucket, ISO 8601 UTC with milliseconds. */
  readonly bucket: string
  /** Decimal digits. */
  readonly amount: string
}
