/**
 * Refuses a quote that the limits of the API key or the policy would not let be swapped: with its approvals, at the middle fee. Its call
 * data is made with the swap, so a rule about methods is not met here.
 */

import { encodeApprove } from '../chain/erc20.ts'
import { nativeAsset } from '../core/assets.ts'
import { NO_CALLER_FIELDS } from '../core/caller-fields.ts'
import type { Owner } from '../core/tenants.ts'
import { type RoomContext, requireRoom } from '../transactions/limits.ts'
import { completeIntent, findPayer, type Requester } from '../transactions/prepare-transaction.ts'
import type { PrepareContext } from '../transactions/send-context.ts'
import { swapIntentOf } from './prepare-swap-calls.ts'
import { gasReserve, type SwapQuote } from './quote.ts'
import { mostIn, spenderOf, targetOf } from './route.ts'

/** @throws KeyLimitReached, PolicyRefused; Unavailable `limit_time_unknown` */
export async function requireQuoteRoom(
  ctx: PrepareContext & RoomContext,
  quote: SwapQuote,
  requester: Owner & Requester,
): Promise<void> {
  const { limitsOf, isJudged } = ctx
  if ((await limitsOf(requester.actor)).length === 0 && !(await isJudged(requester))) return
  const { approval, fromAsset, gas, route } = quote
  const sender = await findPayer(ctx, requester, quote.walletId)
  const now = ctx.log.now()
  const sold = mostIn(route)
  const allowances = approval.needed ? [...(approval.resetFirst ? [0n] : []), sold] : []
  const calls = [
    ...allowances.map((allowed) => ({
      opening: 'TokenApprovalRequested' as const,
      to: fromAsset.contract ?? '',
      data: encodeApprove(spenderOf(route) ?? '', allowed),
      asset: nativeAsset(sender.network, sender.chainId),
      amount: 0n,
      gasLimit: gasReserve(BigInt(gas.approval) / BigInt(allowances.length)),
    })),
    {
      opening: 'SwapRequested' as const,
      to: targetOf(route),
      data: '0x',
      asset: fromAsset,
      amount: sold,
      swap: swapIntentOf({ quote, relays: null }, null),
      gasLimit: gasReserve(BigInt(gas.swap)),
    },
  ]
  const rest = { gasPriority: 'medium', dependsOn: null, subject: null, ...NO_CALLER_FIELDS } as const
  const intents = calls.map((call) => completeIntent(ctx, requester, sender, { ...call, ...rest }, now))
  await requireRoom(ctx, await Promise.all(intents))
}
