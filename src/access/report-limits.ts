/**
 * Records that a limit of an API key was reached, after the request was refused: its answer neither waits for that nor fails
 * with it. If the process ends before, the next request that the limit refuses is reported.
 */
import { LRUCache } from 'lru-cache'
import { KeyLimitReached, type LimitShortfall } from '../core/errors.ts'
import { apiKeyOf, type Metadata } from '../core/messages.ts'
import type { Accept } from '../event-log/accept.ts'
import type { EventLog } from '../event-log/log.ts'
import { apiKeyAggregate } from './aggregate.ts'
import { keyLimitAggregate } from './limit-aggregate.ts'

/** How often the log is asked whether a limit that refuses requests was reported, ms. */
const PAUSE_MS = 60_000
const MAX_REMEMBERED = 10_000

export type LimitReports = {
  /** `accept`, whose refusals by a limit are reported. */
  readonly reporting: (accept: Accept) => Accept
  /** A refusal before `accept`, by what the key may request. */
  readonly refused: (error: KeyLimitReached, metadata: Metadata) => void
  /** Resolves when what was reported until now is recorded, or could not be. */
  readonly close: () => Promise<void>
}

export function createLimitReports({
  log,
  onRefusal,
  onError,
}: {
  readonly log: Pick<EventLog, 'load' | 'execute' | 'now'>
  /** Called for each refusal, also one that no limit is about. */
  readonly onRefusal: () => void
  /** Called for a report that could not be recorded. */
  readonly onError: (error: unknown, keyId: string) => void
}): LimitReports {
  const asked = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: PAUSE_MS })
  const underWay = new Set<Promise<void>>()

  async function record(keyId: string, { counter, left, needed, availableAt }: LimitShortfall, metadata: Metadata) {
    const { state } = await log.load(apiKeyAggregate, keyId)
    const limit = state.status === 'unknown' ? undefined : state.limits.find((one) => one.counter === counter)
    // It was removed meanwhile.
    if (state.status === 'unknown' || limit === undefined) return
    const { tenantId, environment } = state
    const amounts = { left: left.toString(), needed: needed.toString() }
    const report = { environment, limit, ...amounts, availableAt, reachedAt: log.now() }
    const { actor, correlationId } = metadata
    const context = { metadata: { tenantId, actor, ...(correlationId === undefined ? {} : { correlationId }) } }
    await log.execute(keyLimitAggregate, keyId, { type: 'ReportLimit', report }, context)
  }

  function report(shortfall: LimitShortfall, metadata: Metadata): void {
    const keyId = apiKeyOf(metadata.actor)
    const name = `${keyId} ${shortfall.counter}`
    if (keyId === null || asked.has(name)) return
    asked.set(name, true)
    const recorded = record(keyId, shortfall, metadata)
      .catch((error: unknown) => onError(error, keyId))
      .finally(() => underWay.delete(recorded))
    underWay.add(recorded)
  }

  function refused(error: KeyLimitReached, metadata: Metadata): void {
    onRefusal()
    if (error.shortfall !== null) report(error.shortfall, metadata)
  }

  return {
    refused,
    reporting:
      (accept) =>
      (...request) =>
        accept(...request).catch((error: unknown) => {
          if (error instanceof KeyLimitReached) refused(error, request[0])
          throw error
        }),
    close: async () => void (await Promise.all(underWay)),
  }
}
