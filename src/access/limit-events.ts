/** The event of a limit of an API key: a request did not fit. Not each refusal is one: a thief would fill the log. */
import type { KeyLimit } from '../core/key-limits.ts'
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

export type ApiKeyLimitReached = Event<
  'ApiKeyLimitReached',
  {
    readonly environment: Environment
    readonly limit: KeyLimit
    /** What was left, and what the request needed: in the units of the limit. */
    readonly left: string
    readonly needed: string
    /** When the request would have fitted, ISO 8601 UTC; `null` if it is more than the limit. */
    readonly availableAt: string | null
    readonly reachedAt: string
  }
>
