/**
 * Signs the waiting transactions of a lane in order of acceptance, with the lowest free nonces.
 *
 * Invariant: signed bytes are in the log before they can be submitted, and a nonce is assigned in the same append; so
 * the next holder of the lane finds all bytes that may have been submitted.
 */
import { Unavailable } from '../core/errors.ts'
import type { Fence } from '../event-log/leases.ts'
import type { Passed } from '../jobs/drain.ts'
import { NonceClaimed, SigningRefused } from '../keys/signer.ts'
import { transactionAggregate } from './aggregate.ts'
import { checkLane } from './check-recorded.ts'
import { type DependencyOutcome, outcomeOf } from './dependency.ts'
import { examineWaiting, type Ready, type Refused, type Unjudged, type Waiting } from './examine-waiting.ts'
import { fillGaps } from './fill-gaps.ts'
import { apartUnpayable, quoteUnderCap, type Unpayable } from './gas-budget.ts'
import { givenUpMessage, isGivenUp, shownReason } from './held-lanes.ts'
import type { LaneContext } from './lane-context.ts'
import type { Lane } from './lanes.ts'
import { replaceInLane } from './replace-in-lane.ts'
import { type Round, type RoundResult, signAndRecord } from './sign-and-record.ts'
import { newestAttempt } from './state.ts'

/** Transactions signed in one append: about 60 ms of signing, half a megabyte of SQL. */
const MAX_BATCH = 256

/** Rows at the highest nonces that are read to find a proven one. */
const TOP_ROWS = 8

/**
 * One pass over a lane: signs a batch of what waits, and what is due, after it has replaced what asks for it.
 *
 * @throws Unavailable when a transaction could not be simulated: all others are signed then, and it is tried again
 * @throws SigningRefused when parties refuse one: what is due, and what fills gaps, is signed before
 */
export async function signLane(ctx: LaneContext, lane: Lane, lease: Fence): Promise<Passed> {
  const { lanes, deferred } = ctx
  const { replaceAfterMs, maxInFlightPerLane: maxInFlight } = ctx.config
  const unjudged: Unjudged[] = []
  const work: Work = {
    ...ctx,
    lane,
    lease,
    unclear: new Set(),
    unjudged,
    refusals: [],
    done: { appended: 0, ended: 0, left: 0 },
  }
  const limits = { unchangedMs: replaceAfterMs, maxInFlight, limit: MAX_BATCH }
  const look = await lanes.look(lane, { ...limits, except: deferred.of(lane) })
  const isStuck = await replaceInLane(ctx, lane, lease, look)
  let isMoved = await signThese(work, look.waiting)
  const isFull = look.waiting.length === Math.min(MAX_BATCH, Math.max(0, maxInFlight - look.inFlight))
  // What was left alone made room for what waits behind it.
  if (isMoved) while (work.unclear.size > 0 && (await signNext(work, 0)));
  await signDue(work)
  const left = [...deferred.of(lane), ...work.refusals.map(({ transactionId }) => transactionId)]
  const gaps = isStuck ? await fillGaps(ctx, lane, lease, left) : 0
  if (gaps > 0 && (await signNext(work, gaps))) isMoved = true
  const [refusal] = work.refusals
  if (refusal !== undefined) throw refusal
  // More waits than was read or signed, or was freed by what ended. Each such pass has appended something: there is an end.
  if (work.done.appended > 0 && (isFull || work.done.ended + work.done.left > 0)) return 'again'
  const [first] = unjudged
  if (first !== undefined) throw notSimulated(first, unjudged.length)
  if (work.unclear.size > 0 || deferred.of(lane).length > 0) return 'waits'
  return look.waiting.length > 0 && !isMoved ? 'waits' : 'done'
}

/** One pass over a lane. */
type Work = LaneContext & {
  readonly lane: Lane
  readonly lease: Fence
  /**
   * Requests that wait, so that others are signed: a transaction on chain may fulfil them, they may not be signed, or they
   * are fillers without a proven gap. The next pass compares or checks them again.
   */
  readonly unclear: Set<string>
  /** Transactions that this pass could not judge. */
  readonly unjudged: Unjudged[]
  /** Of parties, one for each batch at most: of the first that could not be left out. */
  readonly refusals: (SigningRefused | NonceClaimed)[]
  /**
   * Transactions that this pass wrote to the log, those of them that ended unsigned, on which others may depend, and those that
   * the signer left for the next pass.
   */
  readonly done: { appended: number; ended: number; left: number }
}

function notSimulated({ loaded, reason }: Unjudged, count: number): Unavailable {
  const others = count === 1 ? '' : ` and ${count - 1} more`
  return new Unavailable(
    'rpc_unavailable',
    `No node could simulate ${loaded.id}${others}: ${reason}. The signer retries.`,
  )
}

/**
 * Signs one batch. Gap fillers are signed even when the lane has enough in flight, since nothing else can be mined
 * before them. False when nothing waits or the lane has enough in flight: a mined block wakes it again.
 */
async function signNext(work: Work, gaps: number): Promise<boolean> {
  const { lanes, lane, deferred } = work
  // After a reorg there may be more in flight than the limit.
  const room = Math.max(gaps, work.config.maxInFlightPerLane - (await lanes.inFlight(lane)))
  const ids = await lanes.waiting(lane, Math.min(MAX_BATCH, room), [...deferred.of(lane), ...work.unclear])
  return signThese(work, ids)
}

/** Retries transactions that could not be simulated, separately, so that others do not wait for them. */
async function signDue(work: Work): Promise<void> {
  const { lanes, lane, deferred } = work
  const due = deferred.due(lane)
  if (due.length === 0) return
  const room = Math.max(0, Math.min(MAX_BATCH, work.config.maxInFlightPerLane - (await lanes.inFlight(lane))))
  const these = due.slice(0, room)
  await signThese(work, these).catch((error: unknown) => {
    for (const id of these) deferred.add(lane, id)
    throw error
  })
}

async function signThese(work: Work, wanted: readonly string[]): Promise<boolean> {
  const { log, lane, lanes, lease, deferred } = work
  const chain = work.laneChainOf(lane.chainId)
  const { held, unclear, from } = await work.compare(lane, lease, wanted)
  for (const id of unclear) work.unclear.add(id)
  const ids = wanted.filter((id) => !work.unclear.has(id))
  // What is deferred makes room for what waits behind it.
  if (held !== null || ids.length === 0) return held === null && unclear.length > 0
  const quote = await quoteUnderCap(chain.quote)
  const waiting = await loadWaiting(work, lane, ids)
  const loadedIds = new Set(waiting.map(({ loaded }) => loaded.id))
  const left = ids.filter((id) => !loadedIds.has(id))
  for (const id of left) {
    deferred.forget(id)
    work.unclear.add(id)
  }
  const { ready, refused, unjudged } = await examineWaiting(waiting, chain, quote, log.now())
  const givenUp = leaveAlone(work, unjudged)
  const { nonces, spare } = await lanes.room(lane, from, ready.length)
  const { payable, unpayable } = apartUnpayable(ready, spare)
  const { needed, idle, unknown } = await sortFillers(work, payable, nonces)
  for (const { loaded } of unknown) work.unclear.add(loaded.id)
  const recorded = await signUnlessRefused(work, {
    ready: needed,
    nonces,
    spare,
    refused: [
      ...refused,
      ...givenUp,
      ...unpayable.map((one) => notPaid(one, log.now())),
      ...idle.map((item) => notNeeded(item, log.now())),
    ],
  })
  if (recorded === null) return false
  const { appended, signed, unpaid, left: refusedAlone } = recorded
  for (const { loaded } of unpaid) {
    work.unclear.add(loaded.id)
    work.onRefused(loaded.id, 'the balance of the wallet is too low for its fee: it waits')
  }
  for (const { loaded } of [...ready, ...refused, ...givenUp])
    if (!refusedAlone.some((item) => item.loaded.id === loaded.id)) deferred.forget(loaded.id)
  for (const { loaded } of refusedAlone) deferred.add(lane, loaded.id)
  work.done.appended += appended
  work.done.ended += refused.length + givenUp.length + unpayable.length
  work.done.left += needed.length - unpaid.length - refusedAlone.length - signed
  if (appended > 0) work.metrics.count('bursar_signed_total', { network: chain.settings.network }, signed)
  // What is left alone makes room for what waits behind it; if nothing else could be judged, the node is at fault.
  return appended + refusedAlone.length + unknown.length + unpaid.length > 0
}

/** `null` when parties refuse the batch: what is deferred is tried nevertheless, and may have the nonce that others lack. */
async function signUnlessRefused(work: Work, round: Round): Promise<RoundResult | null> {
  try {
    return await signAndRecord(work, work.lane, work.lease, round)
  } catch (error) {
    if (!(error instanceof SigningRefused || error instanceof NonceClaimed)) throw error
    work.unclear.add(error.transactionId)
    work.refusals.push(error)
    return null
  }
}

type Sorted = { readonly needed: readonly Ready[]; readonly idle: readonly Ready[]; readonly unknown: readonly Ready[] }

/**
 * Apart from fillers that would fill no gap: they only cost a fee. A gap is below a nonce whose bytes are proven, so a
 * forged row makes none, and where one is in flight it is unknown whether a filler is needed.
 */
async function sortFillers(work: Work, ready: readonly Ready[], nonces: readonly number[]): Promise<Sorted> {
  const isFiller = ({ transaction }: Ready) => transaction.type === 'NONCE_FILL'
  if (!ready.some(isFiller)) return { needed: ready, idle: [], unknown: [] }
  const ids = await work.lanes.highestInFlight(work.lane, TOP_ROWS)
  const proven = await checkLane(work, work.lane, ids)
  const highest = Math.max(-1, ...proven.map(({ transaction }) => newestAttempt(transaction)?.nonce ?? -1))
  const needed: Ready[] = []
  const others: Ready[] = []
  for (const item of ready) {
    const nonce = nonces[needed.length] ?? Number.POSITIVE_INFINITY
    if (isFiller(item) && nonce >= highest) others.push(item)
    else needed.push(item)
  }
  return proven.length === ids.length ? { needed, idle: others, unknown: [] } : { needed, idle: [], unknown: others }
}

function notPaid({ item: { loaded }, message }: Unpayable<Ready>, now: string): Refused {
  return { loaded, command: { type: 'FailUnsigned', code: 'insufficient_funds', message, now } }
}

/** A gap that opens later gets another filler. */
function notNeeded({ loaded }: Ready, now: string): Refused {
  const message = 'No transaction waits for a lower nonce: the gap that it was to fill is closed.'
  return { loaded, command: { type: 'FailUnsigned', code: 'expired', message, now } }
}

/** @returns those that end. A node is at work: it returned a transaction count for this pass. */
function leaveAlone(work: Work, items: readonly Unjudged[]): Refused[] {
  const { log, lane, deferred, unjudged } = work
  return items.flatMap((item) => {
    const { loaded } = item
    const tries = deferred.add(lane, loaded.id)
    tellNotSimulated(work, loaded.id, item)
    const now = log.now()
    if (loaded.state.state !== 'unknown' && isGivenUp(item, tries, loaded.state.intent.requestedAt, now)) {
      const message = givenUpMessage(item)
      return [{ loaded, command: { type: 'FailUnsigned', code: 'not_simulated', message, now } } as const]
    }
    unjudged.push(item)
    return []
  })
}

/** Nothing is lost: it is tried again with increasing pauses, and does not delay others. */
function tellNotSimulated({ laneChainOf, lane, logger, metrics, leftAlone }: Work, id: string, item: Unjudged): void {
  const { reason } = item
  const { network } = laneChainOf(lane.chainId).settings
  metrics.count('bursar_not_simulated_total', { network })
  logger.warn({ network, transaction_id: id, reason }, 'cannot simulate a transaction; will retry')
  leftAlone({ kind: 'not_simulated', transactionId: id, reason }, shownReason(item))
}

/** For a dependency whose events were edited. */
const NOT_KNOWN: DependencyOutcome = { outcome: 'open' }

/** The waiting transactions that may be signed, with the outcomes of their dependencies. */
async function loadWaiting(ctx: LaneContext, lane: Lane, ids: readonly string[]): Promise<Waiting[]> {
  const known = (await checkLane(ctx, lane, ids)).filter(({ transaction }) => transaction.state === 'requested')
  const named = new Set(known.flatMap(({ transaction }) => transaction.intent.dependsOn ?? []))
  const dependencies = named.size === 0 ? [] : await ctx.log.loadChecked(transactionAggregate, [...named])
  const outcomes = new Map(
    dependencies.map(({ id, state, broken }) => [id, broken === null ? outcomeOf(id, state) : NOT_KNOWN]),
  )
  return known.map((item) => ({ ...item, dependency: outcomes.get(item.transaction.intent.dependsOn ?? '') ?? null }))
}
