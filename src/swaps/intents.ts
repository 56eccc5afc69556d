/** What swaps and their approvals can do, for policies. Pure. */
import { callIntents } from '../policies/call-intents.ts'
import { type Facts, movedOf } from '../policies/facts.ts'
import { ANY, type Intent, intentOf, keyOf, unclear } from '../policies/intent.ts'
import { calledBy, type JudgedKindsOf } from '../policies/transaction-intents.ts'
import type { Intent as OpeningIntent } from '../transactions/intent.ts'
import type { swaps } from './declaration.ts'
import type { SwapIntent } from './part.ts'

export const swapIntents: JudgedKindsOf<typeof swaps> = {
  SwapRequested: { intents: (data, facts) => [swapIntent(data, facts)] },
  TokenApprovalRequested: { intents: approvalIntents },
  // The operator deploys what all swaps of the installation use.
  SwapGuardDeployRequested: { intents: () => [] },
}

function swapIntent(data: OpeningIntent, facts: Facts): Intent {
  const { chainId, asset, amount, swap } = data
  if (swap === undefined) return unclear(['swap'])
  const { toAsset } = swap
  return intentOf({
    actions: ['swap'],
    ...calledBy(data),
    moves: movedOf(chainId, asset, amount, facts),
    buys: keyOf(chainId, toAsset.contract),
    slippageBps: slippageOf(swap),
  })
}

/** Rounded up: a rule about less than 50 bps is not met by 49.9. */
function slippageOf({ amountType, fromAmount, toAmount, limit }: SwapIntent): number {
  const quoted = BigInt(amountType === 'exact_output' ? fromAmount : toAmount)
  const given = amountType === 'exact_output' ? BigInt(limit) - quoted : quoted - BigInt(limit)
  if (quoted <= 0n || given <= 0n) return 0
  const bps = (given * 10_000n + quoted - 1n) / quoted
  return bps > MOST_BPS ? Number(MOST_BPS) : Number(bps)
}

const MOST_BPS = 1_000_000_000n

/**
 * The swap after it moves what the exchange may take. An allowance without a bound, or of a spender that is no exchange, is one like
 * any other.
 */
function approvalIntents(data: OpeningIntent, facts: Facts): readonly Intent[] {
  return callIntents(data, ['swap'], facts).map((intent) => {
    const { spender, actions, moves } = intent
    const isOfSwap = (spender === null || facts.isOwnSpender(data.chainId, spender)) && moves?.amount !== ANY
    return actions.includes('approve') && isOfSwap
      ? { ...intent, actions: ['swap'], recipient: null, moves: null }
      : intent
  })
}
