/**
 * Records how often a policy refused, or a shadow would have: some time after the request.
 *
 * Invariant: each API key and rule has at most one event a minute, from all processes together. What a minute has no event for is
 * counted in the next one; only what a process has not recorded when it is killed is lost.
 */
import { createHash } from 'node:crypto'
import type { Metadata } from '../core/messages.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { recordOnce } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import { policyDenialAggregate } from './aggregate.ts'
import type { PolicyRefused } from './events.ts'

const MINUTE_MS = 60_000
const MINUTE = 'YYYY-MM-DDTHH:MM'.length
/** Rules and keys whose refusals wait for their event, of all tenants and of one; of more, only metrics tell. */
const MAX_WAITING = 10_000
const MAX_OF_TENANT = 1_000
const NAME_DIGITS = 16

type Counted = Pick<PolicyRefused['data'], 'count' | 'firstAt' | 'lastAt'>
export type Denial = Omit<PolicyRefused['data'], keyof Counted>

export type DenialTally = {
  /** Nothing waits for what follows. */
  readonly note: (denial: Denial, metadata: Metadata) => void
  /** Resolves when what was noted until now is recorded, or could not be. */
  readonly close: () => Promise<void>
}

type Waiting = {
  readonly denial: Denial
  readonly metadata: Metadata
  count: number
  firstAt: string
  lastAt: string
  /** The minute that has its event. */
  recordedIn: string
  timer: NodeJS.Timeout | null
}

export function createDenialTally({
  log,
  onError,
}: {
  readonly log: Pick<EventLog, 'commit' | 'now'>
  /** Called for what could not be recorded; it is tried again. */
  readonly onError: (error: unknown) => void
}): DenialTally {
  const waiting = new Map<string, Waiting>()
  const ofTenant = new Map<string, number>()
  const underWay = new Set<Promise<void>>()

  function start(name: string, one: Waiting): void {
    const done = record(name, one)
      .catch(onError)
      .then(() => void underWay.delete(done))
    underWay.add(done)
  }

  /** Now, if the minute has no event yet; else in the next one. */
  async function record(name: string, one: Waiting): Promise<void> {
    const now = log.now()
    if (one.timer !== null) clearTimeout(one.timer)
    one.timer = setTimeout(() => next(name, one), MINUTE_MS - (Date.parse(now) % MINUTE_MS))
    one.timer.unref()
    const { count, firstAt, lastAt } = one
    if (count === 0 || one.recordedIn === minuteOf(now)) return
    one.count = 0
    let isRecorded = false
    try {
      isRecorded = await recordOnce(log, decisionOf(name, one, { count, firstAt, lastAt }, now))
    } finally {
      // Another process may have recorded one.
      Object.assign(one, isRecorded ? { recordedIn: minuteOf(now) } : { firstAt, count: one.count + count })
    }
  }

  function next(name: string, one: Waiting): void {
    one.timer = null
    if (one.count > 0) start(name, one)
    else drop(name, one)
  }

  function drop(name: string, { metadata: { tenantId } }: Waiting): void {
    waiting.delete(name)
    const others = (ofTenant.get(tenantId) ?? 1) - 1
    if (others === 0) ofTenant.delete(tenantId)
    else ofTenant.set(tenantId, others)
  }

  return {
    note(denial, { tenantId, actor, correlationId }) {
      const name = nameOf(denial, tenantId)
      const known = waiting.get(name)
      const others = ofTenant.get(tenantId) ?? 0
      if (known === undefined && (waiting.size >= MAX_WAITING || others >= MAX_OF_TENANT)) return
      if (known === undefined) ofTenant.set(tenantId, others + 1)
      const now = log.now()
      const metadata = { tenantId, actor, ...(correlationId === undefined ? {} : { correlationId }) }
      const one = known ?? { denial, metadata, count: 0, firstAt: now, lastAt: now, recordedIn: '', timer: null }
      if (one.count === 0) one.firstAt = now
      one.count += 1
      one.lastAt = now
      waiting.set(name, one)
      if (one.timer === null) start(name, one)
    },
    async close() {
      await Promise.all(underWay)
      for (const [name, one] of waiting) if (one.count > 0) start(name, one)
      await Promise.all(underWay)
      for (const { timer } of waiting.values()) if (timer !== null) clearTimeout(timer)
    },
  }
}

/** The first and only event of its stream: of two processes, one records. */
function decisionOf(name: string, { denial, metadata }: Waiting, counted: Counted, now: string) {
  const id = `${metadata.tenantId}-${denial.environment}-${minuteOf(now)}-${name}`
  const command = { type: 'ReportRefusals', report: { ...denial, ...counted } } as const
  return decideNew(policyDenialAggregate, id, command, { metadata, now })
}

function minuteOf(now: string): string {
  return now.slice(0, MINUTE).replace(/[-:]/g, '')
}

/** The same in all processes. */
function nameOf({ environment, version, shadow, rule, apiKey }: Denial, tenantId: string): string {
  const parts = JSON.stringify([tenantId, environment, version, shadow, rule, apiKey])
  return createHash('sha256').update(parts).digest('hex').slice(0, NAME_DIGITS)
}
