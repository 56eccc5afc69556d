/** SQL about the tables of webhooks, for every folder that reads them. */
import type { WebhookStatus } from './decider.ts'

/** Was not deleted. */
export const KNOWN = `status <> '${'deleted' satisfies WebhookStatus}'`

/** A delivery that is still to be sent. */
export const PENDING = `state = 'pending'`

/** How many webhooks the tenant `$1` has. */
export const WEBHOOKS_OF_TENANT = `SELECT count(*) FROM webhooks WHERE tenant_id = $1 AND ${KNOWN}`
