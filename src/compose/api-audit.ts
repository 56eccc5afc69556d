/** The audit routes and their dependencies. They only read; nothing here can sign. */
import { createCheckpointRows } from '../audit/checkpoints/checkpoint-rows.ts'
import { createReadEvents } from '../audit/event-page.ts'
import { createFindEvent } from '../audit/find-event.ts'
import { createProveEvent } from '../audit/proof/prove-event.ts'
import { auditRoutes } from '../audit/routes.ts'
import type { Routes } from '../http/request.ts'
import type { Kernel } from './kernel.ts'

export function composeAuditRoutes({ pool }: Pick<Kernel, 'pool'>): Routes {
  return auditRoutes({
    readEvents: createReadEvents(pool),
    findEvent: createFindEvent(pool),
    checkpoints: createCheckpointRows(pool),
    proveEvent: createProveEvent(pool),
  })
}
