/** Reads from a contract, or simulates a call with all that it would change. Sends and records nothing. */
import { nativeAsset } from '../core/assets.ts'
import { ValidationFailed } from '../core/errors.ts'
import type { Owner } from '../core/tenants.ts'
import { requireRoom } from '../transactions/limits.ts'
import { intentOfCall } from '../transactions/prepare-call.ts'
import type { Requester } from '../transactions/prepare-transaction.ts'
import { toCallView } from '../transactions/view.ts'
import type { CallContext } from './call-context.ts'
import { describeCall } from './describe-call.ts'
import { readCall } from './read-call.ts'
import { rehearseCall } from './rehearse-call.ts'
import { type CallRequest, callToSend, gasFor, requireSendable, watchedFor } from './request-call.ts'
import { requireContract } from './require-contract.ts'
import { simulateCall } from './simulate-call.ts'
import { NOTHING_RETURNED, returnOf, type TriedCallView, toBalanceChange } from './view.ts'

/**
 * Any wallet can try a call: the contract sees its address as the sender.
 *
 * @throws the errors of `readCall`, NotFound, PermissionDenied, Conflict `wallet_not_ready`, Unavailable, ChainRefused;
 *   KeyLimitReached for a simulation of what a request would be refused for
 */
export async function tryCall(
  ctx: CallContext,
  request: CallRequest,
  mode: 'read' | 'simulate',
  owner: Owner & Requester,
): Promise<TriedCallView> {
  const sender = await ctx.findSender(owner, request.walletId)
  const call = readCall(request, sender.address)
  const { foreign: client, code } = ctx.chainOf(sender.chainId)
  await requireContract(code, call.to)
  const { transaction: most } = await ctx.gasRules(sender.chainId)
  if (request.gasLimit !== null) requireSendable(request.gasLimit, most)
  const isSimulated = mode === 'simulate'
  const native = nativeAsset(sender.network, sender.chainId)
  const isSpending = isSimulated && sender.type !== 'watch'
  const [limits, isJudged] = isSpending
    ? await Promise.all([ctx.limitsOf(owner.actor), ctx.isJudged(owner)])
    : [[], false]
  const tokens = isSimulated ? await ctx.tokensOf(owner.tenantId, sender) : []
  const watched = watchedFor({ limits, isJudged }, call, sender)
  const [simulation, rehearsed] = await Promise.all([
    simulateCall(client, sender.address, call, { gas: request.gasLimit ?? most, estimates: isSimulated }),
    isSimulated ? rehearseCall(client, sender.address, call, { native, tokens, watched }) : null,
  ])
  if (simulation.outcome === 'insufficient_funds') {
    const rule = `value is more than the wallet has: send at most its ${native.symbol} balance.`
    throw ValidationFailed.field('value', 'exceeds_balance', rule)
  }
  const described = toCallView(describeCall(call, sender.address))
  if (simulation.outcome === 'reverted')
    return { mode, success: false, call: described, ...NOTHING_RETURNED, balance_changes: [], revert: simulation.error }
  if (limits.length > 0 || isJudged) {
    const gasLimit = request.gasLimit ?? gasFor(simulation, most)
    const wanted = callToSend(request, { sender, call, tokens, rehearsed, watched, gasLimit })
    await requireRoom(ctx, [await intentOfCall(ctx, wanted, owner, sender, ctx.log.now())])
  }
  return {
    mode,
    success: true,
    call: described,
    ...returnOf(call.called?.outputs ?? null, simulation.data),
    gas_estimate: simulation.gas?.toString() ?? null,
    balance_changes: rehearsed?.changes.map(toBalanceChange) ?? null,
    revert: null,
  }
}
