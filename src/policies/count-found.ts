/**
 * Counts towards the limits of policies what wallets sent in transactions that the log does not have: a restore lost their requests, or
 * another program has the key. The follower has recorded the transfers, from blocks whose headers a quorum of the nodes agrees on.
 *
 * Invariant: each confirmed transfer counts once, however often this runs and in however many processes; it never gives anything back.
 */
import type { RepeatedTask } from '../capability.ts'
import type { Metadata } from '../core/messages.ts'
import { LONGEST_WINDOW_SECONDS, type Reservation } from '../core/spend-limits.ts'
import { decideNew } from '../event-log/aggregate.ts'
import { recordOnce } from '../event-log/commit.ts'
import type { EventLog } from '../event-log/log.ts'
import type { LogOwner } from '../event-log/read-logged.ts'
import { foundAggregate } from './aggregate.ts'
import { decide } from './decide.ts'
import type { SpendFound } from './events.ts'
import type { FindOutside, Outside } from './past.ts'
import { type InForce, readInForce } from './policies-in-force.ts'
import { CLOCKS_APART_MS, type PastContext, readStanding } from './read-past.ts'

const INTERVAL_MS = 5_000
const PAGE = 500
/** Transfers may be recorded with the clock of another process. */
const LOOK_BACK_MS = 3_600_000
/** No window reaches further back. */
const OLDEST_MS = LONGEST_WINDOW_SECONDS * 1_000 + 2 * CLOCKS_APART_MS
const ACTOR = 'worker:dispatcher'

type FoundContext = PastContext & { readonly log: EventLog; readonly findOutside: FindOutside }

/** @returns how many were recorded */
export function createCountFound(ctx: FoundContext): (signal: AbortSignal) => Promise<number> {
  const { log, findOutside } = ctx
  let since: string | null = null
  return async (signal) => {
    const nowMs = Date.parse(log.now())
    const timeOf = (ms: number) => new Date(ms).toISOString()
    // What is not confirmed, or left the chain, can be confirmed later.
    let waiting = timeOf(nowMs - LOOK_BACK_MS)
    let count = 0
    const failures: unknown[] = []
    let after: Parameters<FindOutside>[0] | null = { observedAt: since ?? timeOf(nowMs - OLDEST_MS), transferId: '' }
    while (after !== null && !signal.aborted) {
      const page: readonly Outside[] = await findOutside(after, PAGE)
      for (const { isConfirmed, observedAt } of page) if (!isConfirmed && observedAt < waiting) waiting = observedAt
      count += await recordAll(ctx, await unrecorded(log, page), signal, failures)
      after = page.length < PAGE ? null : (page.at(-1) ?? null)
    }
    // All are looked at again.
    if (failures.length > 0) throw failures[0]
    if (!signal.aborted) since = waiting
    return count
  }
}

async function unrecorded(log: EventLog, page: readonly Outside[]): Promise<readonly Outside[]> {
  const confirmed = page.filter(({ isConfirmed }) => isConfirmed)
  if (confirmed.length === 0) return []
  const heads = await log.heads(confirmed.map(({ transferId }) => streamOf(transferId)))
  return confirmed.filter((_, n) => heads[n]?.version === 0)
}

function streamOf(transferId: string): string {
  return `${foundAggregate.category}-${transferId}`
}

/** One tenant whose log cannot be read stops no other. @param failures gets what could not be recorded */
async function recordAll(
  ctx: FoundContext,
  found: readonly Outside[],
  signal: AbortSignal,
  failures: unknown[],
): Promise<number> {
  let count = 0
  const ownerOf = ({ sent }: Outside) => `${sent.tenantId} ${sent.environment}`
  for (const owner of new Set(found.map(ownerOf))) {
    const owned = found.filter((one) => ownerOf(one) === owner)
    if (signal.aborted) break
    await recordOwned(ctx, owned).then(
      () => {
        count += owned.length
      },
      (error: unknown) => failures.push(error),
    )
  }
  return count
}

async function recordOwned(ctx: FoundContext, found: readonly Outside[]): Promise<void> {
  const [first] = found
  if (first === undefined) return
  const { tenantId, environment } = first.sent
  const owner: LogOwner = { tenantId, environment }
  const metadata: Metadata = { tenantId, actor: ACTOR }
  const inForce = await readInForce(ctx.pool, owner)
  const judge = await judgeFound(ctx, owner, inForce)
  for (const { transferId, sent } of found) {
    const now = ctx.log.now()
    const data = { ...sent, foundAt: now }
    const command = { type: 'RecordFound', found: { ...data, ...judge(transferId, data) } } as const
    // Another dispatcher may have recorded it.
    await recordOnce(ctx.log, decideNew(foundAggregate, transferId, command, { metadata, now }))
  }
}

type Judging = Pick<SpendFound['data'], 'policy' | 'reservations'>

/** Judges as whoever reads the event later: by what the log says of the tenant. */
async function judgeFound(
  ctx: PastContext,
  owner: LogOwner,
  { active, shadow }: InForce,
): Promise<(id: string, data: SpendFound['data']) => Judging> {
  if (active === null && shadow === null) return () => ({})
  const past = await readStanding(ctx, owner)
  return (id, data) => {
    const event = { streamId: streamOf(id), type: 'SpendFound', schemaVersion: 1, data, actor: ACTOR }
    const step = past.take({ ...event, recordedAt: data.foundAt })
    if (step?.is !== 'request') throw new Error('a spend that was found is a request of the past')
    const reservations = new Map<string, Reservation>()
    for (const policy of [active, shadow])
      for (const one of policy === null ? [] : decide(policy, step.judged).reservations)
        if (!reservations.has(one.counter)) reservations.set(one.counter, { ...one, mustFit: false })
    const versions = { version: active?.version ?? 0, ...(shadow === null ? {} : { shadow: shadow.version }) }
    return {
      policy: { ...versions, tags: step.judged.tags, prices: [] },
      ...(reservations.size === 0 ? {} : { reservations: [...reservations.values()] }),
    }
  }
}

export const foundTask: RepeatedTask = {
  name: 'found-spends',
  intervalMs: () => INTERVAL_MS,
  failure: 'cannot count what wallets sent outside of the log; will retry',
  build: ({ pool, log, past: source, findOutside, config: { chains } }) =>
    createCountFound({ pool, log, source, chains, findOutside }),
}
