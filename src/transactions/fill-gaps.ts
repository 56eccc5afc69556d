/**
 * Fills gaps in the nonces of a lane with empty transactions, so that the transactions behind them can be mined.
 *
 * Invariant: a filler costs at most what the wallet has beyond the holds of its other transactions. It never takes what
 * they need; where nothing is left, the gap stays until the wallet is funded (`nonce_gap` in `stuck`). A gap is below a nonce
 * that the lane has signed, and where it is wide because nodes were wrong, only some fillers are made in an hour.
 */

import type { FeeQuote } from '../chain/fees.ts'
import { nativeAsset } from '../core/assets.ts'
import { NO_CALLER_FIELDS } from '../core/caller-fields.ts'
import { smallest } from '../core/money.ts'
import { decideNew, notHeld } from '../event-log/aggregate.ts'
import { HoldRefused } from '../event-log/append.ts'
import type { Fence } from '../event-log/leases.ts'
import { MAX_FILLERS_AN_HOUR } from '../keys/mpc/filler-counts.ts'
import { transactionAggregate } from './aggregate.ts'
import { quoteAt, quoteUnderCap } from './gas-budget.ts'
import type { Intent, Quote } from './intent.ts'
import type { LaneContext } from './lane-context.ts'
import { type Lane, laneName } from './lanes.ts'

/** Stuck transactions of which one names the wallet: others may be held by an event that cannot be read. */
const MOST_ASKED = 16

/**
 * Ensures that a transaction waits to be signed for each gap, below what has been stuck for `replaceAfterMs`.
 *
 * @param deferred waiting transactions that cannot be signed now
 * @returns the number of gaps
 * @throws Unavailable
 */
export async function fillGaps(
  ctx: Pick<LaneContext, 'log' | 'lanes' | 'newId' | 'countOf' | 'laneChainOf' | 'logger'> & {
    readonly config: Pick<LaneContext['config'], 'replaceAfterMs'>
  },
  lane: Lane,
  lease: Fence,
  deferred: readonly string[] = [],
): Promise<number> {
  const { log, lanes, logger } = ctx
  const { replaceAfterMs } = ctx.config
  const count = await ctx.countOf(lane)
  const gaps = count === null ? [] : await lanes.gaps(lane, count, replaceAfterMs)
  if (count === null || gaps.length === 0) return 0
  const waiting = await lanes.waiting(lane, gaps.length, deferred)
  const stuck = await lanes.stuck(lane, replaceAfterMs, MOST_ASKED)
  const left = Math.max(0, MAX_FILLERS_AN_HOUR - (await lanes.fillersOfHour(lane, count)))
  const unfilled = gaps.slice(waiting.length, waiting.length + left)
  if (unfilled.length === 0 || stuck.length === 0) return gaps.length
  const states = notHeld(await log.loadMany(transactionAggregate, stuck)).map(({ state }) => state)
  const state = states.find((one) => one.state !== 'unknown')
  if (state === undefined) return 0
  const chain = ctx.laneChainOf(lane.chainId)
  const quote = await quoteUnderCap(chain.quote)
  if (quote === null) return gaps.length
  const { minTipWei, network } = chain.settings
  const [spare, gasLimit] = await Promise.all([lanes.spare(lane), chain.emptyGas(lane.address)])
  // Without the lowest one nothing is mined; the others follow when it is paid and the wallet has more.
  const filled = unfilled.slice(0, Number(spare / leastFillerCost(gasLimit, quote.baseFeePerGas, minTipWei)))
  const fees = fillerFees(quote, { gasLimit, minTipWei, share: spare / BigInt(filled.length || 1) })
  if (filled.length === 0 || fees === null) return gaps.length
  const intent = fillerOf(state.intent, gasLimit, fees, log.now())
  const metadata = { tenantId: intent.tenantId, actor: 'worker:signer', causationId: laneName(lane) }
  const decisions = filled.map(() =>
    decideNew(
      transactionAggregate,
      ctx.newId('transaction'),
      { type: 'RequestTransaction', opening: 'NonceFillRequested', intent },
      { metadata, now: log.now() },
    ),
  )
  try {
    await log.commit(decisions, { fence: lease })
    logger.warn(
      { network, address: lane.address, nonces: filled },
      'no transaction uses these nonces; filling the gap with transfers of zero value',
    )
  } catch (error) {
    // A request took meanwhile what was spare.
    if (!(error instanceof HoldRefused)) throw error
  }
  return gaps.length
}

/** The least that a filler costs while it can still be mined, wei. Both fees are wei per gas. */
export function leastFillerCost(gasLimit: bigint, baseFeePerGas: bigint, minTipWei: bigint): bigint {
  return gasLimit * (baseFeePerGas + minTipWei)
}

/** The high fees, limited to an equal share of what the wallet can spare; `null` when a share cannot be mined. */
function fillerFees(
  quote: FeeQuote,
  { gasLimit, minTipWei, share }: { readonly gasLimit: bigint; readonly minTipWei: bigint; readonly share: bigint },
): Quote | null {
  const high = quoteAt(quote, 'high')
  if (share < leastFillerCost(gasLimit, high.baseFeePerGas, minTipWei)) return null
  const maxFeePerGas = smallest(high.maxFeePerGas, share / gasLimit)
  const maxPriorityFeePerGas = smallest(high.maxPriorityFeePerGas, maxFeePerGas - high.baseFeePerGas)
  return { ...high, maxFeePerGas, maxPriorityFeePerGas }
}

/** Of the same wallet as the transaction that waits for it. */
function fillerOf(stuck: Intent, gasLimit: bigint, quote: Quote, now: string): Intent {
  const { tenantId, walletId, network, environment, chainId, from } = stuck
  const { assetId, symbol, decimals, contract } = nativeAsset(network, chainId)
  return {
    tenantId,
    walletId,
    network,
    environment,
    chainId,
    from,
    to: from,
    asset: { assetId, symbol, decimals, contract },
    amount: 0n,
    data: null,
    dependsOn: null,
    subject: null,
    gasPriority: 'high',
    reserved: { gasLimit, maxFeePerGas: quote.maxFeePerGas },
    quote,
    ...NO_CALLER_FIELDS,
    idempotency: null,
    estimatedCompletionAt: now,
    requestedAt: now,
  }
}
