/** Nonces of a lane that no transaction uses, and those that a transaction of another program has used. Pure. */
import { formatAmount } from '../../core/money.ts'
import { NATIVE_DECIMALS, NATIVE_SYMBOL } from '../../core/networks.ts'
import { leastFillerCost } from '../../transactions/fill-gaps.ts'
import type { ChainNow } from '../chain-now.ts'
import { type NextStep, step } from '../finding.ts'
import { apiRequest, bursar, count } from '../words.ts'
import type { LaneNow } from './lane-now.ts'
import { type Add, type LaneSituation, look } from './lane-situation.ts'

export function judgeNonces(lane: LaneNow, context: LaneSituation, add: Add): void {
  const { gaps, chainNonce, head, headNonce, ages } = lane
  const [gap] = gaps
  // A waiting request automatically gets the lowest free nonce: the gap is about to be filled.
  if (gap !== undefined && headNonce !== null && gap < headNonce && lane.counts.waiting === 0) {
    const lacks = lackOfFiller(lane, context.chain)
    add(
      'nonce_gap',
      ages.head,
      `Nonce ${gaps.join(', ')} is unused, so ${count(lane.counts.submitted + lane.counts.unsent + lane.counts.awaitingFunds, 'transaction')} ` +
        `from nonce ${headNonce} on cannot be mined.${lacks === null ? '' : ` ${lacks.problem}`}`,
      lacks?.next ??
        step(
          'Send any transfer from the wallet, such as 0.000000000000000001 to itself: it gets the free nonce.',
          apiRequest(`/v1/wallets/${lane.wallet?.id ?? '{wallet_id}'}/transfer`, {
            to: lane.lane.address,
            amount: '0.000000000000000001',
            asset: context.chain === null ? 'ETH' : NATIVE_SYMBOL[context.chain.settings.network],
          }),
        ),
      look(lane, context),
    )
  }
  if (chainNonce === null || headNonce === null || head === null || chainNonce <= headNonce) return
  if (!context.atHead || (ages.head ?? 0) <= context.limits.workMs) return
  add(
    'nonce_taken',
    ages.head,
    `The account is at nonce ${chainNonce} on chain, but ${head.id} with nonce ${headNonce} is not recorded as mined although the ` +
      'follower is near the head: another program sent from this address.',
    step(
      'Find out who else has this key. When the other block is final, the transaction gets a new nonce automatically; it fails ' +
        'after the third time.',
      bursar(`explain ${head.id}`),
    ),
  )
}

/** Why the lane does not fill its gap: a filler never takes what other transactions of the wallet hold. */
function lackOfFiller(
  { lane, spare, gas }: LaneNow,
  chain: ChainNow | null,
): { problem: string; next: NextStep } | null {
  if (chain === null || !chain.node.up || spare === null) return null
  const { baseFeePerGas } = chain.node
  const { minTipWei, network } = chain.settings
  const missing = leastFillerCost(gas.empty, baseFeePerGas, minTipWei) - spare
  if (missing <= 0n) return null
  const enough = leastFillerCost(gas.empty, 2n * baseFeePerGas, minTipWei) - spare
  return {
    problem: `The wallet lacks ${missing} wei for a transaction of nothing with that nonce: its other transactions hold the rest.`,
    next: step(
      `Send at least ${formatAmount(enough, NATIVE_DECIMALS)} ${NATIVE_SYMBOL[network]} to ${lane.address}: the nonce is then used automatically.`,
    ),
  }
}
