/**
 * Replaces signed bytes by ones with the same nonce and higher fees: to cancel, to speed up, or to unblock a stuck
 * lane. At most one of the versions can be mined, because they share their nonce.
 */
import { bumpFees, type FeeQuote } from '../chain/fees.ts'
import { smallest } from '../core/money.ts'
import { type Change, change } from '../event-log/aggregate.ts'
import type { Fence } from '../event-log/leases.ts'
import type { EventLog } from '../event-log/log.ts'
import { SigningRefused } from '../keys/signer.ts'
import { transactionAggregate } from './aggregate.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { type CheckRecorded, checkLane, type Sound } from './check-recorded.ts'
import type { Fees, GasPriority, ReplacementPurpose } from './events.ts'
import { createGasBudget, type GasBudget, withinFunds } from './gas-budget.ts'
import type { LaneLook } from './lane-look.ts'
import { type Lane, type LaneReads, laneName } from './lanes.ts'
import type { NeededGas } from './needed-gas.ts'
import type { EmptyGas } from './plain-gas.ts'
import { quoteAt, quoteUnderCap } from './quote-at.ts'
import { type SignBatchPorts, signUnder } from './sign-batch.ts'
import { mostReplacementFee } from './spend-bounds.ts'
import { type Attempt, highestOffer, isUnmined, type KnownTransaction, newestAttempt } from './state.ts'
import { replacementWithTag, type TagKeys, tagOf } from './tags.ts'

export type ReplacePorts = SignBatchPorts & {
  readonly log: EventLog
  readonly lanes: LaneReads
  readonly quoteOf: (chainId: number) => Promise<FeeQuote>
  /** The hard cap of a chain, wei per gas. */
  readonly capOf: (chainId: number) => bigint
  /** The gas limit of a cancellation. */
  readonly emptyGas: EmptyGas
  /** The gas that its bytes lack by the rules of now. */
  readonly neededGas: NeededGas
  /** Whether a recorded transaction may be signed. */
  readonly check: CheckRecorded
  readonly keys: TagKeys
  readonly onCapReached: (transactionId: string) => void
  /**
   * Called for a transaction whose fee cannot be bumped because its wallet could not pay for it in addition to
   * everything else it sends.
   */
  readonly onFundsReached: (transactionId: string) => void
}

type Wanted = Pick<LaneLook, 'wantingReplacement' | 'stuck'>

/** Returns whether a transaction of the lane is stuck. */
export type ReplaceInLane = (lane: Lane, lease: Fence, look: Wanted) => Promise<boolean>

export function createReplaceInLane(ports: ReplacePorts): ReplaceInLane {
  const { log, lanes } = ports
  return async (lane, lease, { wantingReplacement, stuck }) => {
    const ids = [...new Set([...wantingReplacement, ...stuck])]
    if (ids.length === 0) return false
    const quote = await quoteUnderCap(() => ports.quoteOf(lane.chainId))
    if (quote === null) return stuck.length > 0
    const [sound, spare] = await Promise.all([checkLane(ports, lane, ids), lanes.spare(lane)])
    await withinFunds(
      spare,
      () => lanes.spare(lane),
      async (funds) => {
        const budget = createGasBudget(funds)
        const decisions = await Promise.all(sound.map((item) => replacement(ports, lane, item, { quote, budget })))
        await log.commit(decisions, { fence: lease })
      },
    )
    return stuck.length > 0
  }
}

async function replacement(
  ports: ReplacePorts,
  lane: Lane,
  { loaded, wallet, transaction }: Sound,
  { quote, budget }: { readonly quote: FeeQuote; readonly budget: GasBudget },
): Promise<Change | null> {
  if (!isUnmined(transaction)) return null
  const newest = newestAttempt(transaction)
  if (newest === null) return null
  const purpose = purposeOf(transaction, newest)
  const priority = transaction.speedUpRequested ?? transaction.intent.gasPriority
  const isAskedFor = purpose === 'speed_up' || (purpose === 'cancel' && newest.purpose !== 'cancel')
  const needed = purpose === 'cancel' ? null : await ports.neededGas(transaction)
  if (!isAskedFor && needed === null && !mayHelp(transaction, newest, purpose, quote, priority)) return null
  const call = purpose === 'cancel' ? buildCancellation(transaction.intent) : buildCall(transaction.intent)
  const gasLimit = purpose === 'cancel' ? await ports.emptyGas(lane) : (needed ?? newest.fees.gasLimit)
  const cap = ports.capOf(lane.chainId)
  const payable = budget.feeLimit(transaction, call) / gasLimit
  const tag = tagOf(ports.keys, { id: loaded.id, transaction }, purpose === 'cancel' ? 'cancel' : 'send')
  const fees = bumped(highestOffer(transaction), quote[priority], { cap: smallest(cap, payable), gasLimit, tag })
  if (fees === null) {
    if (payable < cap) ports.onFundsReached(loaded.id)
    else ports.onCapReached(loaded.id)
    return null
  }
  budget.take(transaction, call, fees)
  const [signed] = await signUnder(ports, lane, [{ loaded, wallet, call, fees }], [newest.nonce]).catch(
    (error: unknown) => {
      if (!(error instanceof SigningRefused)) throw error
      ports.onRefused(loaded.id, error.message)
      return []
    },
  )
  if (signed === undefined) return null
  return change(
    transactionAggregate,
    loaded,
    { type: 'RecordReplacement', signed: signed.bytes, purpose, quote: quoteAt(quote, priority) },
    { worker: 'signer', cause: laneName(lane), now: ports.log.now() },
  )
}

/** The replacement of a stuck cancellation is a cancellation. */
function purposeOf(transaction: KnownTransaction, newest: Attempt): ReplacementPurpose {
  if (transaction.cancellationRequested || newest.purpose === 'cancel') return 'cancel'
  return transaction.speedUpRequested === null ? 'bump' : 'speed_up'
}

/**
 * Whether a fee bump may unblock the lane: the network's fees are above the offer, or a node has the bytes and one try
 * is due, since no quote shows everything. For a transaction that waits for funds, a node or an earlier nonce, bumps
 * would only raise the cost, up to the cap.
 */
function mayHelp(
  { state, attempts }: KnownTransaction,
  newest: Attempt,
  purpose: ReplacementPurpose,
  quote: FeeQuote,
  priority: GasPriority,
): boolean {
  if (state === 'awaiting_funds') return false
  const { maxPriorityFeePerGas: tip, maxFeePerGas: maxFee } = newest.fees
  // The base fee may rise once (EIP-1559: 12.5 % per block) before the next block.
  if (tip < quote[priority].maxPriorityFeePerGas || maxFee < (quote.baseFeePerGas * 9n) / 8n + tip) return true
  const tries = attempts.filter((attempt) => attempt.purpose === purpose).length - (purpose === 'cancel' ? 1 : 0)
  return newest.submittedAt !== null && tries === 0
}

/** At most twice the fee in one step, and within the limits; `null` when they leave no room for more. */
function bumped(
  previous: Pick<Fees, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  quote: FeeQuote[GasPriority],
  { cap, gasLimit, tag }: { readonly cap: bigint; readonly gasLimit: bigint; readonly tag: number },
): Fees | null {
  const most = smallest(mostReplacementFee(previous), cap)
  const fees = bumpFees(
    previous,
    {
      maxFeePerGas: smallest(quote.maxFeePerGas, most),
      maxPriorityFeePerGas: smallest(quote.maxPriorityFeePerGas, most),
    },
    cap,
  )
  return fees === null ? null : replacementWithTag({ gasLimit, ...fees }, tag, { previous, most })
}
