/** The transactions of a swap, each after the one before has succeeded: approvals of the exact amount, then the swap. */

import { encodeApprove } from '../chain/erc20.ts'
import type { GasRules } from '../chain/forks.ts'
import { type CallerFields, pickCallerFields } from '../core/caller-fields.ts'
import type { Metadata } from '../core/messages.ts'
import type { GasPriority } from '../transactions/intent.ts'
import { prepareCall } from '../transactions/prepare-call.ts'
import type { PreparedTransaction } from '../transactions/prepare-transaction.ts'
import type { PrepareContext, Sender } from '../transactions/send-context.ts'
import type { ConfirmedQuote } from './confirm-quote.ts'
import type { SwapIntent } from './part.ts'
import { gasReserve, type SwapQuote } from './quote.ts'
import { amountsOf, mostIn, wrappedOf } from './route.ts'

/** What the owner may add to a swap. */
export type SwapExtras = CallerFields & { readonly gasPriority: GasPriority }

export type SwapToPrepare = {
  readonly swapId: string
  readonly order: SwapExtras
  readonly metadata: Metadata
  readonly sender: Sender
  readonly quote: SwapQuote
  readonly confirmed: ConfirmedQuote
  /** The only hosts that may get the bytes of the swap; `null` where the nodes get them. */
  readonly relays: readonly string[] | null
}

export type PreparedSwap = { readonly approvals: readonly PreparedTransaction[]; readonly swap: PreparedTransaction }

/** Appends nothing. @throws errors of `prepareCall` */
export async function prepareSwapCalls(ports: PrepareContext, plan: SwapToPrepare): Promise<PreparedSwap> {
  const { swapId, order, metadata, sender, quote, confirmed } = plan
  const { approval, call, deadline } = confirmed
  const shared = {
    owner: { tenantId: metadata.tenantId, environment: sender.environment },
    walletId: sender.walletId,
    gasPriority: order.gasPriority,
    subject: { type: 'swap', id: swapId },
    validUntil: deadline,
  } as const
  const gas = gasOf(plan, await ports.gasRules(sender.chainId))
  const amounts = approvalAmounts(plan)
  const approvals: PreparedTransaction[] = []
  // Sequentially: they are signed in the order of their ids.
  for (const amount of amounts) {
    const request = {
      ...shared,
      kind: 'TokenApprovalRequested',
      part: approvals.length,
      to: quote.fromAsset.contract ?? '',
      data: encodeApprove(approval.spender ?? '', amount),
      gasLimit: gasReserve(gas.approval / BigInt(amounts.length)),
      dependsOn: approvals.at(-1)?.transactionId ?? null,
    } as const
    approvals.push(await prepareCall(ports, request, metadata))
  }
  const approvalTransactionId = approvals.at(-1)?.transactionId ?? null
  const swap = await prepareCall(
    ports,
    {
      ...pickCallerFields(order),
      ...shared,
      kind: 'SwapRequested',
      to: call.to,
      data: call.data,
      sells: {
        asset: quote.fromAsset,
        amount: mostIn(quote.route),
        parts: { swap: swapIntentOf(plan, approvalTransactionId) },
      },
      gasLimit: gasReserve(gas.swap),
      dependsOn: approvalTransactionId,
    },
    metadata,
  )
  return { approvals, swap }
}

/** Never more than the swap takes; 0 first where the token refuses another change. */
function approvalAmounts({ confirmed: { approval } }: SwapToPrepare): readonly bigint[] {
  if (!approval.needed) return []
  return approval.resetFirst ? [0n, BigInt(approval.amount)] : [BigInt(approval.amount)]
}

function gasOf(
  { quote, confirmed: { outcome } }: SwapToPrepare,
  rules: GasRules,
): { readonly approval: bigint; readonly swap: bigint } {
  if (outcome.type === 'swapped') return outcome.gas
  const approval = BigInt(quote.gas.approval)
  return { approval: approval === 0n ? 2n * rules.approval : approval, swap: BigInt(quote.gas.swap) }
}

export function swapIntentOf(
  { quote, relays }: Pick<SwapToPrepare, 'quote' | 'relays'>,
  approvalTransactionId: string | null,
): SwapIntent {
  const { terms, toAsset, route } = quote
  const { amountIn, amountOut, limit } = amountsOf(route)
  return {
    amountType: terms.amountType,
    toAsset,
    fromAmount: amountIn.toString(),
    toAmount: amountOut.toString(),
    limit: limit.toString(),
    wrapped: wrappedOf(route),
    approvalTransactionId,
    ...(route.type === 'hosted' ? { hosted: true } : {}),
    ...(relays === null ? {} : { relays }),
  }
}
