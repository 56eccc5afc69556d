/** The event of a delivery: it was given up. Its attempts are no events: an outage of a receiver would fill the log. */
import type { Event } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'

export type WebhookDeliveryGivenUp = Event<
  'WebhookDeliveryGivenUp',
  {
    readonly webhookId: string
    readonly environment: Environment
    /** Of the public event that was not delivered, with its type. */
    readonly eventId: string
    readonly eventType: string
    /** `null` for a first delivery. */
    readonly replayId: string | null
    /** One more after each retry that failed. */
    readonly attempts: number
    /** `status`: `null` without a response, of which `error` says why. */
    readonly lastAttempt: { readonly at: string; readonly status: number | null; readonly error: string | null } | null
    readonly givenUpAt: string
  }
>

export type WebhookDeliveryEvent = WebhookDeliveryGivenUp
