/** The routes of the audit, with what they read. */
import type { ApiContext } from '../api-context.ts'
import { createCheckpointRows } from './checkpoints/checkpoint-rows.ts'
import { createReadEvents } from './event-page.ts'
import { createFindEvent } from './find-event.ts'
import { createProveEvent } from './proof/prove-event.ts'
import { auditRoutes } from './routes.ts'

export function buildAudit({ pool }: Pick<ApiContext, 'pool'>) {
  return auditRoutes({
    readEvents: createReadEvents(pool),
    findEvent: createFindEvent(pool),
    checkpoints: createCheckpointRows(pool),
    proveEvent: createProveEvent(pool),
  })
}
