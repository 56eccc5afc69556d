/**
 * Appends the events that open a resource, once for each idempotency key: a repeated request permanently gets the
 * resource of the first one.
 */
import { IdempotencyKeyReused } from '../core/errors.ts'
import type { Metadata } from '../core/messages.ts'
import { type Commit, IdempotentReplay } from './commit.ts'
import type { EventLog } from './log.ts'

export type Opened = {
  /** Replaces pinning, for contents that cannot be pinned. */
  readonly id: string
  /** True when an earlier request with this key created it; nothing was appended. */
  readonly replayed: boolean
}

/**
 * @param resourceId the resource that the commit creates
 * @param metadata of the request: holds the client's idempotency key, if it sent one
 * @throws IdempotencyKeyReused when the key belongs to a different request; the errors of the append
 */
export async function appendOnce(
  log: Pick<EventLog, 'append'>,
  commit: Commit,
  { resourceId, metadata }: { readonly resourceId: string; readonly metadata: Metadata },
): Promise<Opened> {
  const { tenantId, idempotency } = metadata
  const guard = idempotency ? { idempotency: { tenantId, ...idempotency, resourceId } } : {}
  try {
    await log.append({ ...commit, guards: { ...commit.guards, ...guard } })
    return { id: resourceId, replayed: false }
  } catch (error) {
    if (!(error instanceof IdempotentReplay)) throw error
    if (error.fingerprint !== idempotency?.fingerprint) throw new IdempotencyKeyReused()
    return { id: error.resourceId, replayed: true }
  }
}
