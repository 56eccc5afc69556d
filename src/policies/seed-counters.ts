/**
 * Gives the counters of a shadow what was spent before it: every request that the shadow has not judged itself, as far as windows reach
 * back, counts as the shadow would have counted it.
 *
 * Invariant: what a counter has of a bucket is never less than that. A request that names the shadow, or has reserved of a counter,
 * is counted there already; all others were committed before the shadow, since the append compares versions under one lock, so they
 * are all read. What was added before, also by a run that was killed, is subtracted. Two writers cannot both add: each appends
 * behind the head that it began with.
 */
import type { Pool } from 'pg'
import type { RepeatedTask } from '../capability.ts'
import type { Metadata } from '../core/messages.ts'
import { LONGEST_WINDOW_SECONDS } from '../core/spend-limits.ts'
import { decideOn, type Loaded } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
import { type LogOwner, readRanges } from '../event-log/read-logged.ts'
import type { Row } from '../event-log/table-rows.ts'
import { findUnspent } from '../transactions/find-unspent.ts'
import { policyAggregate, policyStreamOf, seedingAggregate } from './aggregate.ts'
import type { CompiledPolicy } from './compile.ts'
import { decide } from './decide.ts'
import type { CountersSeeded, SeededSum } from './events.ts'
import type { PastStep } from './past.ts'
import { readInForce } from './policies-in-force.ts'
import { CLOCKS_APART_MS, type PastContext, readPast } from './read-past.ts'

const INTERVAL_MS = 5_000
/** Sums of one event: about 150 KB. */
const SUMS_AT_ONCE = 1_000
/** Sums in memory: about 100 MB. If there are more, the past is read several times, each time for a part of the counters. */
const MOST_SUMS = 250_000
/** Events of the stream that are read at once. */
const SEEDED_AT_ONCE = 20
/** No window reaches further back, whatever clocks say. */
const OLDEST_MS = LONGEST_WINDOW_SECONDS * 1_000 + 2 * CLOCKS_APART_MS
const TENANTS_AT_ONCE = 100
const ACTOR = 'worker:dispatcher'

type SeedContext = PastContext & { readonly log: EventLog; readonly mostSums?: number }

/** By counter, then by bucket. */
type Sums = Map<string, Map<string, bigint>>
type Part = { readonly part: number; readonly parts: number }

/** @returns how many shadows were seeded */
export async function seedCounters(ctx: SeedContext, signal: AbortSignal): Promise<number> {
  let seeded = 0
  const failures: unknown[] = []
  for (const { tenant_id: tenantId, environment, shadow_version: version } of await findUnseeded(ctx.pool)) {
    if (signal.aborted) break
    // One tenant whose log cannot be read stops no other.
    await seedShadow(ctx, { tenantId, environment }, version, signal).then(
      () => {
        seeded += 1
      },
      (error: unknown) => failures.push(error),
    )
  }
  if (failures.length > 0) throw failures[0]
  return seeded
}

async function findUnseeded(pool: Pool) {
  type Unseeded = Pick<Row<'policies'>, 'tenant_id' | 'shadow_version'> & Pick<LogOwner, 'environment'>
  const { rows } = await pool.query<Unseeded>({
    name: 'unseeded_shadows',
    text: `SELECT tenant_id, environment, shadow_version FROM policies
            WHERE shadow_version > 0 AND NOT shadow_seeded ORDER BY updated_at LIMIT ${TENANTS_AT_ONCE}`,
  })
  return rows
}

async function seedShadow(ctx: SeedContext, owner: LogOwner, version: number, signal: AbortSignal): Promise<void> {
  const { pool, log } = ctx
  const { shadow } = await readInForce(pool, owner)
  if (shadow?.version !== version) return
  const metadata: Metadata = { tenantId: owner.tenantId, actor: ACTOR }
  const id = policyStreamOf(owner)
  const [head] = await log.heads([`${seedingAggregate.category}-${id}`])
  let before: Loaded<{ readonly added: readonly SeededSum[] }> = {
    ...{ id, state: seedingAggregate.initialState },
    ...{ version: head?.version ?? 0, hash: head?.hash ?? '' },
  }
  const nowMs = Date.parse(log.now())
  for await (const missing of missingSums(ctx, { owner, shadow, nowMs, seededBy: before.version }, signal)) {
    const now = log.now()
    for (let n = 0; n < missing.length; n += SUMS_AT_ONCE) {
      const counters = missing.slice(n, n + SUMS_AT_ONCE)
      const command = { type: 'SeedCounters', ...owner, version, counters, seededAt: now } as const
      const added = decideOn(seedingAggregate, before, command, { metadata, now })
      if (added === null) continue
      await log.commit([added])
      before = added.after
    }
  }
  if (!signal.aborted)
    await log.execute(policyAggregate, id, { type: 'SeedPolicy', version, now: log.now() }, { metadata })
}

type Seeding = {
  readonly owner: LogOwner
  readonly shadow: CompiledPolicy
  readonly nowMs: number
  /** The version of the stream of what was added before. */
  readonly seededBy: number
}

/** What its buckets lack, in the order of counters and buckets; in several parts if there is much. */
async function* missingSums(
  ctx: SeedContext,
  seeding: Seeding,
  signal: AbortSignal,
): AsyncGenerator<readonly SeededSum[]> {
  for (let [part, parts] = [0, 1]; part < parts && !signal.aborted; ) {
    const sums = await spentBefore(ctx, seeding, { part, parts }, signal)
    if (sums === null) {
      // A half of what was too much.
      parts *= 2
      part *= 2
      continue
    }
    await subtractSeeded(ctx.pool, seeding, sums)
    const missing = [...sums].flatMap(([counter, buckets]) =>
      [...buckets].flatMap(([bucket, amount]) => (amount > 0n ? [{ counter, bucket, amount: amount.toString() }] : [])),
    )
    if (!signal.aborted) yield missing.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    part += 1
  }
}

function nameOf({ counter, bucket }: SeededSum): string {
  return `${counter} ${bucket}`
}

/** @returns null if there are more sums than may be in memory */
async function spentBefore(
  ctx: SeedContext,
  { owner, shadow, nowMs }: Seeding,
  part: Part,
  signal: AbortSignal,
): Promise<Sums | null> {
  const { pool, mostSums = MOST_SUMS } = ctx
  const since = (windowSeconds: number) => nowMs - windowSeconds * 1_000 - CLOCKS_APART_MS
  const longest = Math.max(0, ...shadow.rules.map(({ limit }) => limit?.windowSeconds ?? 0))
  const sums: Sums = new Map()
  let count = 0
  const range = { fromMs: since(longest), toMs: null, isGapless: false, isAnyPrice: true }
  for await (const { steps } of readPast(ctx, owner, range)) {
    if (signal.aborted) return sums
    const requests = steps.flatMap((step) => (step.is === 'request' && !isCounted(step, shadow) ? [step] : []))
    const unspent = await findUnspent(
      pool,
      requests.map(({ id }) => id),
    )
    for (const { id, judged, by } of requests) {
      if (unspent.has(id)) continue
      const reserved = new Set(by.reservations?.map(({ counter }) => counter))
      for (const { counter, bucket, amount, windowSeconds } of decide(shadow, judged).reservations) {
        if (Date.parse(bucket) < since(windowSeconds) || reserved.has(counter) || !isOfPart(counter, part)) continue
        const buckets = sums.get(counter) ?? new Map<string, bigint>()
        if (!buckets.has(bucket)) count += 1
        sums.set(counter, buckets.set(bucket, (buckets.get(bucket) ?? 0n) + amount))
      }
    }
    if (count > mostSums) return null
  }
  return sums
}

/** Whether the shadow has judged it: what of it counts, it has reserved itself. */
function isCounted({ by: { policy } }: Extract<PastStep, { is: 'request' }>, { version }: CompiledPolicy): boolean {
  return policy !== undefined && (policy.shadow === version || policy.version === version)
}

/** What earlier shadows, and runs that were killed, have added. */
async function subtractSeeded(pool: Pool, { owner, nowMs, seededBy }: Seeding, sums: Sums): Promise<void> {
  const streamId = `${seedingAggregate.category}-${policyStreamOf(owner)}`
  for (let to = seededBy; to > 0; to -= SEEDED_AT_ONCE) {
    const rows = await readRanges(pool, [{ streamId, from: Math.max(1, to - SEEDED_AT_ONCE + 1), to }], SEEDED_AT_ONCE)
    for (const { counter, bucket, amount } of rows.flatMap(({ data }) => (data as CountersSeeded['data']).counters)) {
      const buckets = sums.get(counter)
      const lacking = buckets?.get(bucket)
      if (lacking !== undefined) buckets?.set(bucket, lacking - BigInt(amount))
    }
    // Older ones are of older buckets.
    if (rows.every(({ recorded_at }) => recorded_at.getTime() < nowMs - OLDEST_MS)) return
  }
}

/** FNV-1a: the counters of one part are as many as those of another. */
function isOfPart(counter: string, { part, parts }: Part): boolean {
  if (parts === 1) return true
  let hash = 0x811c9dc5
  for (let n = 0; n < counter.length; n += 1) hash = Math.imul(hash ^ counter.charCodeAt(n), 0x01000193)
  return Math.floor(((hash >>> 0) / 2 ** 32) * parts) === part
}

export const seedingTask: RepeatedTask = {
  name: 'policy-seeding',
  intervalMs: () => INTERVAL_MS,
  failure: 'cannot add up what was spent before a policy was shadowed; will retry',
  build:
    ({ pool, log, past: source, config: { chains } }) =>
    (signal) =>
      seedCounters({ pool, log, source, chains }, signal),
}
