/**
 * Signs what waits in a lane, in the order in which it was accepted, under the lowest nonces that are free.
 *
 * Invariant: signed bytes are in the log before anybody can send them, and a nonce is given out in the same append; so
 * whoever takes the lane next finds every byte that may be on the wire.
 */
import type { FeeQuote } from '../chain/fees.ts'
import { Unavailable } from '../core/errors.ts'
import { type Change, change, type Loaded } from '../event-log/aggregate.ts'
import type { Lease, Leases } from '../event-log/leases.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import { buildCall, type Call } from './build-call.ts'
import { checkLane, type Sound } from './check-lane.ts'
import type { CheckRecorded } from './check-recorded.ts'
import type { TransactionCommand } from './decider.ts'
import { type DependencyOutcome, outcomeOf } from './dependency.ts'
import { GAS_MARGIN_PERCENT, type GasEstimate, type GasRequest } from './estimate-gas.ts'
import type { FailureCode, Fees, GasPriority, Intent, RecordedQuote } from './events.ts'
import type { FillGaps } from './fill-gaps.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { transactionAggregate } from './projection.ts'
import { recordedQuote } from './recorded-quote.ts'
import { isTokenTransfer, REFUSED_BY_TOKEN, type RefusedByToken } from './refused-by-token.ts'
import type { ReplaceInLane } from './replace-in-lane.ts'
import { type SignBatchPorts, signBatch } from './sign-batch.ts'
import { mostFirstFee, mostGas } from './spend-bounds.ts'
import type { TransactionState } from './state.ts'
import { workerMetadata } from './worker-metadata.ts'

/** Transactions that are signed in one append: about 60 ms of signing, half a megabyte of SQL. */
const MAX_BATCH = 256

/** What the lane needs to know of its chain. */
export type LaneChain = {
  readonly quote: () => Promise<FeeQuote>
  readonly estimateGas: (requests: readonly GasRequest[]) => Promise<readonly GasEstimate[]>
  readonly refusedByToken: RefusedByToken
  /** Transactions of the account in the newest block: the lowest nonce that the chain would take. */
  readonly nonceOf: (address: string) => Promise<number>
}

export type DrainLanePorts = SignBatchPorts & {
  readonly log: EventLog
  readonly leases: Leases
  readonly lanes: LaneReads
  readonly chainOf: (chainId: number) => LaneChain
  /** Whether what was recorded may be signed. */
  readonly check: CheckRecorded
  readonly replace: ReplaceInLane
  readonly maxInFlight: number
  readonly fillGaps: FillGaps
  /** Told of each batch once it is in the log, for metrics. */
  readonly onSigned: (chainId: number, transactions: number) => void
}

export type DrainLane = (lane: Lane) => Promise<void>

export function createDrainLane(ports: DrainLanePorts): DrainLane {
  const { leases, replace, fillGaps } = ports
  return async (lane) => {
    const lease = await leases.acquire(`sign-${laneName(lane)}`)
    if (lease === null) return // Another signer holds the lane, and has now been told that there is more to do.
    try {
      do {
        const isStuck = await replace(lane, lease)
        while ((await lease.renew()) && (await signNext(ports, lane, lease, 0)));
        const gaps = isStuck ? await fillGaps(lane, lease) : 0
        if (gaps > 0) await signNext(ports, lane, lease, gaps)
      } while ((await lease.release()) === 'wanted')
    } catch (error) {
      await lease.release({ force: true })
      throw error
    }
  }
}

/**
 * Signs one batch. What fills gaps is signed even where the lane has enough in flight: nothing of that is mined before.
 * False when nothing waits or the lane has enough in flight: a mined block wakes it again.
 */
async function signNext(ports: DrainLanePorts, lane: Lane, lease: Lease, gaps: number): Promise<boolean> {
  const { log, lanes, maxInFlight } = ports
  const chain = ports.chainOf(lane.chainId)
  // A reorg may have put more in flight than there is room for.
  const room = Math.max(gaps, maxInFlight - (await lanes.inFlight(lane)))
  const ids = await lanes.waiting(lane, Math.min(MAX_BATCH, room))
  if (ids.length === 0) return false
  const [waiting, quote, chainNonce] = await Promise.all([
    loadWaiting(ports, lane, ids),
    quoteUnderCap(chain),
    chain.nonceOf(lane.address),
  ])
  const { ready, refused } = await examine(waiting, chain, quote, log.now())
  const nonces = await lanes.freeNonces(lane, chainNonce, ready.length)
  const signed = await lease.during(async () => (ready.length === 0 ? [] : signBatch(ports, lane, ready, nonces)))
  const context = (loaded: Loaded<TransactionState>) => ({
    metadata: workerMetadata(loaded.state, 'signer', laneName(lane)),
    now: log.now(),
  })
  const changes: Change[] = decided([
    ...refused.map(({ loaded, command }) => change(transactionAggregate, loaded, command, context(loaded))),
    ...signed.map(({ item: { loaded, quote: basis }, bytes }) =>
      change(transactionAggregate, loaded, { type: 'RecordSignature', signed: bytes, quote: basis }, context(loaded)),
    ),
  ])
  if (changes.length === 0) return false
  await log.append({ changes, guards: { fence: lease } })
  ports.onSigned(lane.chainId, signed.length)
  return true
}

/** `null` while gas costs more than the hard cap: what waits goes on waiting, or expires. */
async function quoteUnderCap(chain: LaneChain): Promise<FeeQuote | null> {
  return chain.quote().catch((error) => {
    if (error instanceof Unavailable && error.code === 'fee_cap_exceeded') return null
    throw error
  })
}

/** Of a dependency whose events were edited. */
const NOT_KNOWN: DependencyOutcome = { outcome: 'open' }

type Waiting = Sound & { readonly dependency: DependencyOutcome | null }
type Candidate = Waiting & { readonly call: Call }
type Ready = Candidate & { readonly fees: Fees; readonly quote: RecordedQuote }
type Refused = { readonly loaded: Loaded<TransactionState>; readonly command: TransactionCommand }

/** What still waits to be signed and may be, with what became of the transactions that it depends on. */
async function loadWaiting(ports: DrainLanePorts, lane: Lane, ids: readonly string[]): Promise<Waiting[]> {
  const known = (await checkLane(ports, lane, ids)).filter(({ transaction }) => transaction.state === 'requested')
  const named = new Set(known.flatMap(({ transaction }) => transaction.intent.dependsOn ?? []))
  const dependencies = named.size === 0 ? [] : await ports.log.loadChecked(transactionAggregate, [...named])
  const outcomes = new Map(
    dependencies.map(({ id, state, broken }) => [id, broken === null ? outcomeOf(id, state) : NOT_KNOWN]),
  )
  return known.map((item) => ({ ...item, dependency: outcomes.get(item.transaction.intent.dependsOn ?? '') ?? null }))
}

/** Parts what can be signed now from what must fail, with the reason; what must go on waiting is in neither. */
async function examine(
  waiting: readonly Waiting[],
  chain: LaneChain,
  quote: FeeQuote | null,
  now: string,
): Promise<{ ready: Ready[]; refused: Refused[] }> {
  const orphaned = waiting.flatMap(({ loaded, dependency }) =>
    dependency?.outcome === 'failed' ? [fail(loaded, 'dependency_failed', dependency.message, now)] : [],
  )
  const candidates = waiting.flatMap((item): Candidate[] =>
    item.dependency === null || item.dependency.outcome === 'succeeded'
      ? [{ ...item, call: buildCall(item.transaction) }]
      : [],
  )
  const [estimates, unmoved] = await Promise.all([
    chain.estimateGas(candidates.map(toGasRequest)),
    refusedTransfers(chain, candidates),
  ])
  const judged = candidates.map((candidate, index) =>
    unmoved.has(candidate)
      ? fail(candidate.loaded, 'token_transfer_refused', REFUSED_BY_TOKEN, now)
      : judge(candidate, estimates[index], quote, now),
  )
  return {
    ready: judged.filter((item): item is Ready => item !== null && 'fees' in item),
    refused: [...orphaned, ...judged.filter((item): item is Refused => item !== null && 'command' in item)],
  }
}

async function refusedTransfers(chain: LaneChain, candidates: readonly Candidate[]): Promise<ReadonlySet<Candidate>> {
  const transfers = candidates.filter(({ transaction }) => isTokenTransfer(transaction.intent))
  const refused = await chain.refusedByToken(transfers.map(toGasRequest))
  return new Set(transfers.filter((_, index) => refused[index]))
}

function toGasRequest({ transaction, call, dependency }: Candidate): GasRequest {
  const since = dependency?.outcome === 'succeeded' ? { sinceBlock: dependency.blockNumber } : {}
  return { from: transaction.intent.from, call, ...since }
}

function fail(loaded: Loaded<TransactionState>, code: FailureCode, message: string, now: string): Refused {
  return { loaded, command: { type: 'FailUnsigned', code, message, now } }
}

function judge(
  candidate: Candidate,
  estimate: GasEstimate | undefined,
  quote: FeeQuote | null,
  now: string,
): Ready | Refused | null {
  const { loaded, transaction } = candidate
  const { intent } = transaction
  const { validUntil, gasPriority, reserved } = intent
  if (validUntil !== null && validUntil <= now) {
    const dear = `Until ${validUntil} gas cost more than the configured cap: send again when fees fall.`
    return quote === null
      ? fail(loaded, 'fee_cap_exceeded', dear, now)
      : fail(loaded, 'expired', `It was valid until ${validUntil} and could not be sent before.`, now)
  }
  if (quote === null) return null
  if (estimate === undefined) throw new Error('fewer gas estimates than calls')
  if (!estimate.ok) return fail(loaded, estimate.code, estimate.reason, now)
  const gasLimit = gasLimitOf(intent, estimate.gasLimit)
  if (gasLimit === null) return fail(loaded, 'fee_cap_exceeded', tooMuchGas(estimate.gasLimit, reserved.gasLimit), now)
  const fees = chooseFees(quote, gasPriority, reserved, gasLimit)
  return { ...candidate, fees, quote: recordedQuote(quote, gasPriority) }
}

function tooMuchGas(estimated: bigint, reserved: string): string {
  return `It needs ${estimated} gas now, and ${reserved} was held back for it: send it again.`
}

/**
 * A call gets at least what was reserved for it: the state that it was simulated on may want less gas than the one that it
 * meets, after what is signed before it. What it does not use costs nothing.
 *
 * @returns `null` when it needs more than may be spent on it
 */
export function gasLimitOf(intent: Pick<Intent, 'data' | 'reserved'>, estimated: bigint): bigint | null {
  const least = intent.data === null ? 0n : BigInt(intent.reserved.gasLimit)
  const most = mostGas(intent)
  if (estimated <= most) return estimated > least ? estimated : least
  return (estimated * 100n) / GAS_MARGIN_PERCENT <= most ? most : null
}

/**
 * The tip of now, and the cap that was reserved when the request was accepted as long as it leaves room for one rise of
 * the base fee (EIP-1559: 12.5 % a block); so what was held back is what may be spent. Where fees rose further than the first
 * bytes may follow, replacements follow step by step.
 */
export function chooseFees(
  quote: FeeQuote,
  priority: GasPriority,
  reserved: { readonly maxFeePerGas: string },
  gasLimit: bigint,
): Fees {
  const fresh = quote[priority]
  const cap = BigInt(reserved.maxFeePerGas)
  const enough = (quote.baseFeePerGas * 9n) / 8n + fresh.maxPriorityFeePerGas
  const maxFeePerGas = cap >= enough ? cap : smallest(fresh.maxFeePerGas, mostFirstFee({ reserved }))
  return {
    gasLimit: gasLimit.toString(),
    maxFeePerGas: maxFeePerGas.toString(),
    maxPriorityFeePerGas: smallest(fresh.maxPriorityFeePerGas, maxFeePerGas).toString(),
  }
}

function smallest(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
