/** The event of refusals by a policy: at most one for each API key, rule and minute, or a thief would fill the log. */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

export type PolicyRefused = Event<
  'PolicyRefused',
  {
    readonly environment: Environment
    readonly version: number
    /** The version only reports: the request was not refused. */
    readonly shadow: boolean
    /** `null` for the default. */
    readonly rule: string | null
    /** As `details.reason` of the answer: `denied`, `over_limit`. */
    readonly reason: string
    /** The id of the key; `null` for a process of the installation. */
    readonly apiKey: string | null
    /** Of the first of them; `null` for what is about no wallet. */
    readonly walletId: string | null
    /** How many requests. */
    readonly count: number
    readonly firstAt: string
    readonly lastAt: string
  }
>
