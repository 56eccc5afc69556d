/**
 * Replaces signed bytes by ones with the same nonce and higher fees: to cancel, to speed up, or to unblock a stuck
 * lane. At most one of the versions can be mined, because they share their nonce.
 */
import { bumpFees, type FeeQuote } from '../chain/fees.ts'
import { smallest } from '../core/money.ts'
import { type Decision, decideOn } from '../event-log/aggregate.ts'
import type { Fence } from '../event-log/leases.ts'
import { SigningRefused } from '../keys/signer.ts'
import { transactionAggregate } from './aggregate.ts'
import { buildCall, buildCancellation } from './build-call.ts'
import { checkLane, type Sound } from './check-recorded.ts'
import type { ReplacementPurpose } from './events.ts'
import { createGasBudget, type GasBudget, quoteAt, quoteUnderCap, withinFunds } from './gas-budget.ts'
import type { Fees, GasPriority } from './intent.ts'
import type { LaneContext } from './lane-context.ts'
import type { LaneLook } from './lane-look.ts'
import { type Lane, laneName } from './lanes.ts'
import { signUnder } from './sign-and-record.ts'
import { mostReplacementFee } from './spend-bounds.ts'
import { type Attempt, highestOffer, isUnmined, type KnownTransaction, newestAttempt } from './state.ts'
import { replacementWithTag, tagOf } from './tags.ts'

type ReplaceContext = Pick<
  LaneContext,
  'log' | 'lanes' | 'signer' | 'clock' | 'keys' | 'check' | 'laneChainOf' | 'logger' | 'onRefused'
>

/**
 * Replaces what its owner or the age of its bytes asks for. What its wallet cannot pay for in addition to everything else
 * that it sends, or what the cap of the chain forbids, stays as it is.
 *
 * @returns whether a transaction of the lane is stuck
 */
export async function replaceInLane(
  ctx: ReplaceContext,
  lane: Lane,
  lease: Fence,
  { wantingReplacement, stuck }: Pick<LaneLook, 'wantingReplacement' | 'stuck'>,
): Promise<boolean> {
  const { log, lanes } = ctx
  const ids = [...new Set([...wantingReplacement, ...stuck])]
  if (ids.length === 0) return false
  const quote = await quoteUnderCap(ctx.laneChainOf(lane.chainId).quote)
  if (quote === null) return stuck.length > 0
  const [sound, spare] = await Promise.all([checkLane(ctx, lane, ids), lanes.spare(lane)])
  await withinFunds(
    spare,
    () => lanes.spare(lane),
    async (funds) => {
      const budget = createGasBudget(funds)
      const decisions = await Promise.all(sound.map((item) => replacement(ctx, lane, item, { quote, budget })))
      await log.commit(decisions, { fence: lease })
    },
  )
  return stuck.length > 0
}

async function replacement(
  ctx: ReplaceContext,
  lane: Lane,
  { loaded, wallet, transaction }: Sound,
  { quote, budget }: { readonly quote: FeeQuote; readonly budget: GasBudget },
): Promise<Decision | null> {
  if (!isUnmined(transaction)) return null
  const newest = newestAttempt(transaction)
  if (newest === null) return null
  const chain = ctx.laneChainOf(lane.chainId)
  const purpose = purposeOf(transaction, newest)
  const priority = transaction.speedUpRequested ?? transaction.intent.gasPriority
  const isAskedFor = purpose === 'speed_up' || (purpose === 'cancel' && newest.purpose !== 'cancel')
  const needed = purpose === 'cancel' ? null : await chain.neededGas(transaction)
  if (!isAskedFor && needed === null && !mayHelp(transaction, newest, purpose, quote, priority)) return null
  const call = purpose === 'cancel' ? buildCancellation(transaction.intent) : buildCall(transaction.intent)
  const gasLimit = purpose === 'cancel' ? await chain.emptyGas(lane.address) : (needed ?? newest.fees.gasLimit)
  const cap = chain.settings.maxFeePerGasWei
  const payable = budget.feeLimit(transaction, call) / gasLimit
  const tag = tagOf(ctx.keys, { id: loaded.id, transaction }, purpose === 'cancel' ? 'cancel' : 'send')
  const fees = bumped(highestOffer(transaction), quote[priority], { cap: smallest(cap, payable), gasLimit, tag })
  if (fees === null) {
    const limit = payable < cap ? 'the balance of the wallet is too low' : 'the fee cap is reached; raise the cap'
    ctx.logger.warn({ transaction_id: loaded.id }, `cannot bump the fee of a stuck transaction: ${limit}`)
    return null
  }
  budget.take(transaction, call, fees)
  const [signed] = await signUnder(ctx, lane, [{ loaded, wallet, call, fees }], [newest.nonce]).catch(
    (error: unknown) => {
      if (!(error instanceof SigningRefused)) throw error
      ctx.onRefused(loaded.id, error.message)
      return []
    },
  )
  if (signed === undefined) return null
  return decideOn(
    transactionAggregate,
    loaded,
    { type: 'RecordReplacement', signed: signed.bytes, purpose, quote: quoteAt(quote, priority) },
    { worker: 'signer', cause: laneName(lane), now: ctx.log.now() },
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
