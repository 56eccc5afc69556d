/**
 * Replaces signed bytes by dearer ones with the same nonce: to cancel, to speed up, or to free a lane that is stuck. At
 * most one of the versions can ever be mined, because they share their nonce.
 */
import { bumpFees, type FeeQuote } from '../chain/fees.ts'
import { type Clock, toInstant } from '../core/ids.ts'
import { type Change, change, type Loaded } from '../event-log/aggregate.ts'
import type { Lease } from '../event-log/leases.ts'
import { decided, type EventLog } from '../event-log/log.ts'
import type { KeyRef, Signer } from '../keys/signer.ts'
import { buildCall, buildCancellation, PLAIN_TRANSFER_GAS, unsigned } from './build-call.ts'
import type { Fees, GasPriority, ReplacementPurpose } from './events.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import { transactionAggregate } from './projection.ts'
import { recordedQuote } from './recorded-quote.ts'
import { type Attempt, isUnmined, type KnownTransaction, newestAttempt, type TransactionState } from './state.ts'
import { workerMetadata } from './worker-metadata.ts'

/** The lowest nonces block all others: only these are bumped in one round. */
const MAX_BUMPS = 16

export type ReplacePorts = {
  readonly log: EventLog
  readonly lanes: LaneReads
  readonly quoteOf: (chainId: number) => Promise<FeeQuote>
  /** The hard cap of a chain, wei for one unit of gas. */
  readonly capOf: (chainId: number) => bigint
  readonly signer: Signer
  readonly keyOf: (walletId: string) => Promise<KeyRef>
  readonly clock: Clock
  /** How long bytes may stay out of a block before they are made dearer. */
  readonly replaceAfterMs: number
  readonly onCapReached: (transactionId: string) => void
}

/** Tells whether anything of the lane is stuck. */
export type ReplaceInLane = (lane: Lane, lease: Lease) => Promise<boolean>

export function createReplaceInLane(ports: ReplacePorts): ReplaceInLane {
  const { log, lanes, replaceAfterMs } = ports
  return async (lane, lease) => {
    const [wanted, stuck] = await Promise.all([
      lanes.wantingReplacement(lane),
      lanes.stuck(lane, replaceAfterMs, MAX_BUMPS),
    ])
    const ids = [...new Set([...wanted, ...stuck])]
    if (ids.length === 0) return false
    const quote = await ports.quoteOf(lane.chainId)
    const loaded = await log.loadMany(transactionAggregate, ids)
    const changes: Change[] = decided(
      await lease.during(() => Promise.all(loaded.map((item) => replacement(ports, lane, item, quote)))),
    )
    if (changes.length > 0) await log.append({ changes, guards: { fence: lease } })
    return stuck.length > 0
  }
}

async function replacement(
  ports: ReplacePorts,
  lane: Lane,
  loaded: Loaded<TransactionState>,
  quote: FeeQuote,
): Promise<Change | null> {
  const transaction = loaded.state
  if (transaction.state === 'unknown' || !isUnmined(transaction)) return null
  const newest = newestAttempt(transaction)
  if (newest === null) return null
  const purpose = purposeOf(transaction, newest)
  const priority = transaction.speedUpRequested ?? transaction.intent.gasPriority
  const isAskedFor = purpose === 'speed_up' || (purpose === 'cancel' && newest.purpose !== 'cancel')
  if (!isAskedFor && !mayHelp(transaction, newest, purpose, quote, priority)) return null
  const fees = bumped(newest.fees, quote[priority], ports.capOf(lane.chainId), purpose)
  if (fees === null) {
    ports.onCapReached(loaded.id)
    return null
  }
  const call =
    purpose === 'cancel' || newest.purpose === 'cancel' ? buildCancellation(transaction) : buildCall(transaction)
  const key = await ports.keyOf(transaction.intent.walletId)
  const [signed] = await ports.signer.signTransactions([
    {
      key,
      intent: { kind: 'transaction', id: loaded.id },
      transaction: unsigned(lane.chainId, newest.nonce, call, fees),
    },
  ])
  if (signed === undefined) throw new Error('the signer answered fewer signatures than it was asked for')
  const bytes = {
    nonce: newest.nonce,
    hash: signed.hash,
    rawTransaction: signed.rawTransaction,
    fees,
    signedAt: toInstant(ports.clock()),
  }
  return change(
    transactionAggregate,
    loaded,
    { type: 'RecordReplacement', signed: bytes, purpose, quote: recordedQuote(quote, priority) },
    { metadata: workerMetadata(transaction, 'signer', laneName(lane)), now: ports.log.now() },
  )
}

/** A cancellation that is stuck stays a cancellation. */
function purposeOf(transaction: KnownTransaction, newest: Attempt): ReplacementPurpose {
  if (transaction.cancellationRequested || newest.purpose === 'cancel') return 'cancel'
  return transaction.speedUpRequested === null ? 'bump' : 'speed_up'
}

/**
 * Whether to pay more may free the lane: the network asks for more than is offered, or a node has the bytes and one try is
 * due, since no quote shows everything. What waits for funds, for a node or for an earlier nonce would only get dearer with
 * time, up to the cap.
 */
function mayHelp(
  { state, attempts }: KnownTransaction,
  newest: Attempt,
  purpose: ReplacementPurpose,
  quote: FeeQuote,
  priority: GasPriority,
): boolean {
  if (state === 'awaiting_funds') return false
  const [tip, maxFee] = [BigInt(newest.fees.maxPriorityFeePerGas), BigInt(newest.fees.maxFeePerGas)]
  // One rise of the base fee (EIP-1559: 12.5 % a block) may come before the next block.
  if (tip < quote[priority].maxPriorityFeePerGas || maxFee < (quote.baseFeePerGas * 9n) / 8n + tip) return true
  const tries = attempts.filter((attempt) => attempt.purpose === purpose).length - (purpose === 'cancel' ? 1 : 0)
  return newest.submittedAt !== null && tries === 0
}

/** `null` when the hard cap forbids to pay more. */
function bumped(
  previous: Fees,
  quote: FeeQuote[GasPriority],
  capWei: bigint,
  purpose: ReplacementPurpose,
): Fees | null {
  const fees = bumpFees(
    { maxFeePerGas: BigInt(previous.maxFeePerGas), maxPriorityFeePerGas: BigInt(previous.maxPriorityFeePerGas) },
    quote,
    capWei,
  )
  if (fees === null) return null
  return {
    gasLimit: purpose === 'cancel' ? PLAIN_TRANSFER_GAS.toString() : previous.gasLimit,
    maxFeePerGas: fees.maxFeePerGas.toString(),
    maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
  }
}
