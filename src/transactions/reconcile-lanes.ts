/**
 * Compares lanes with their chains on demand, with the same code as signers: what the chain has of a waiting or signed
 * request is recorded as its own. Signs nothing.
 *
 * A signer may work on the lane meanwhile: of two appends to a request one is refused, and the lane is compared again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { ChainRefused, Conflict, Unavailable } from '../core/errors.ts'
import { FenceLost, StreamConflict, UniqueRuleBroken } from '../event-log/append.ts'
import { repeatOnConflict } from '../event-log/commit.ts'
import { isForbidden } from '../event-log/database-errors.ts'
import type { Lease, Leases } from '../event-log/leases.ts'
import type { Row } from '../event-log/table-rows.ts'
import type { CompareLane, LaneReports } from './compare-lane.ts'
import { heldText } from './held-cause.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { isUnmined } from './sql.ts'

/** Requests compared at once. */
const PAGE = 256
/** Longer than another `reconcile` takes for a lane, or its lease lasts if it died. */
const LEASE_TRIES = 40
const LEASE_PAUSE_MS = 250
const OTHER = 'Another process records for the lane at the moment'

export type Recovered = { readonly transactionId: string; readonly nonce: number; readonly hash: string }

export type ReconciledLane = {
  readonly lane: Lane
  /**
   * `busy`: another `reconcile` works on it, or others changed it whenever something was to be recorded. `unanswered`: no
   * node has the required answer.
   */
  readonly outcome: 'compared' | 'held' | 'busy' | 'unanswered'
  /** Why it is held, busy or unanswered. */
  readonly reason: string | null
  /** Why requests of the lane are held. */
  readonly unclear: readonly string[]
  /** Requests that wait for their first signature now. */
  readonly waiting: number
  /** Transactions recorded as found on chain. */
  readonly recovered: readonly Recovered[]
}

/** Lanes with transactions that are in no block, or the named one of them, in any case. */
export async function findUnminedLanes({ pool }: Pick<Context, 'pool'>, only: Lane | null): Promise<readonly Lane[]> {
  const { rows } = await pool.query<Pick<Row<'transactions'>, 'chain_id' | 'from_address'>>(
    `SELECT DISTINCT chain_id, from_address FROM transactions WHERE ${isUnmined('transactions')}
        AND ($1::integer IS NULL OR (chain_id = $1 AND lower(from_address) = lower($2))) ORDER BY 1, 2`,
    [only?.chainId ?? null, only?.address ?? null],
  )
  return rows.map((row) => ({ chainId: row.chain_id, address: row.from_address }))
}

/** @throws Conflict `signer_required` for a database user that cannot take the leases of signers */
export async function reconcileLane(
  ctx: Pick<Context, 'leases'> & {
    readonly lanes: Pick<LaneReads, 'waiting'>
    readonly compareWith: (told: LaneReports) => Promise<CompareLane>
    /** Passed in where time is simulated; by default a random time. */
    readonly pauseOnConflict?: (() => Promise<void>) | undefined
  },
  lane: Lane,
): Promise<ReconciledLane> {
  const recovered: Recovered[] = []
  const reasons = new Set<string>()
  const compare = await ctx.compareWith({
    onHeld: (_lane, cause) => reasons.add(heldText(cause)),
    onRecovered: (_lane, transactionId, { nonce, hash }) => recovered.push({ transactionId, nonce, hash }),
  })
  const lease = await take(ctx.leases, lane)
  if (lease === null) return { lane, outcome: 'busy', reason: OTHER, unclear: [], waiting: 0, recovered }
  try {
    const compared = await compareAll(ctx, compare, lane, lease)
    const unclear = [...reasons].filter((reason) => reason !== compared.reason)
    return { lane, ...compared, outcome: unclear.length > 0 ? 'held' : compared.outcome, unclear, recovered }
  } finally {
    await lease.release({ force: true })
  }
}

/** Runs a task under a lease that no other `reconcile` has meanwhile. @throws Conflict `lane_busy`, `signer_required` */
export async function withLane<T>(leases: Leases, lane: Lane, task: (lease: Lease) => Promise<T>): Promise<T> {
  const lease = await take(leases, lane)
  if (lease === null) throw new Conflict('lane_busy', `${OTHER}: try again in a few seconds.`)
  try {
    return await lease.during(() => task(lease))
  } finally {
    await lease.release({ force: true })
  }
}

async function take(leases: Leases, lane: Lane): Promise<Lease | null> {
  for (let tries = 1; ; tries += 1) {
    const lease = await leases.acquire(`sign-reconcile-${laneName(lane)}`).catch((error: unknown) => {
      if (!isForbidden(error)) throw error
      throw new Conflict(
        'signer_required',
        'The user of DATABASE_URL has no permission to record for lanes: connect as the database user of the signers.',
      )
    })
    if (lease !== null || tries === LEASE_TRIES) return lease
    await delay(LEASE_PAUSE_MS)
  }
}

type Compared = Pick<ReconciledLane, 'outcome' | 'reason' | 'waiting'>

async function compareAll(
  ctx: Parameters<typeof reconcileLane>[0],
  compare: CompareLane,
  lane: Lane,
  lease: Lease,
): Promise<Compared> {
  const { lanes } = ctx
  const seen: string[] = []
  for (;;) {
    const ids = await lanes.waiting(lane, PAGE, seen)
    seen.push(...ids)
    const held = await compareOnce(ctx, compare, lane, lease, ids)
    if (held === null && ids.length === PAGE && (await lease.renew())) continue
    const waiting = (await lanes.waiting(lane, seen.length + PAGE)).length
    return { ...(held ?? { outcome: 'compared', reason: null }), waiting }
  }
}

async function compareOnce(
  { pauseOnConflict: pause }: Parameters<typeof reconcileLane>[0],
  compare: CompareLane,
  lane: Lane,
  lease: Lease,
  ids: readonly string[],
) {
  try {
    const { held } = await lease.during(() =>
      repeatOnConflict(() => compare(lane, lease, ids), { isConflict: isOfOthers, pause }),
    )
    return held === null ? null : ({ outcome: 'held', reason: heldText(held) } as const)
  } catch (error) {
    if (error instanceof FenceLost || isOfOthers(error)) return { outcome: 'busy', reason: OTHER } as const
    if (!(error instanceof Unavailable || error instanceof ChainRefused)) throw error
    if (error instanceof Unavailable && error.code.startsWith('database')) throw error
    return { outcome: 'unanswered', reason: error.message } as const
  }
}

/** A signer, or the follower, has recorded something of the same request, or has given its nonce. */
function isOfOthers(error: unknown): boolean {
  return error instanceof StreamConflict || error instanceof UniqueRuleBroken
}
