/** Requests of an owner for a pending transaction: cancel it, or pay higher fees. The lane carries them out. */
import type { ChainSettings } from '../chain/settings.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { acceptChange } from '../event-log/accept.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import { quoteUnderCap } from './gas-budget.ts'
import type { GasPriority } from './intent.ts'
import { readSpares } from './lanes.ts'
import { createPlainGas, emptyTransferGas, type PlainGasChain } from './plain-gas.ts'
import { limitWarning, replacementLimit } from './replacement-limit.ts'
import type { SendContext } from './send-context.ts'
import { wishOf } from './state.ts'
import type { TransactionView } from './view.ts'

export type Changed = {
  readonly view: TransactionView
  /** Why what was requested is not signed yet. */
  readonly warnings: readonly ReturnType<typeof limitWarning>[]
  /** True when an earlier request with the same idempotency key made it; nothing was requested again. */
  readonly replayed: boolean
}

export type Target = {
  readonly environment: Environment
  readonly walletId: string
  readonly transactionId: string
  readonly metadata: Metadata
}

type ChangeContext = Pick<SendContext, 'log' | 'accept' | 'newId' | 'pool' | 'transactions' | 'quoteOf'> & {
  readonly chainOf: (chainId: number) => PlainGasChain & Readonly<{ settings: Pick<ChainSettings, 'maxFeePerGasWei'> }>
}

/**
 * Requests the cancellation. The status is `cancelled` only once the cancelling transaction has its confirmations; a
 * transaction that was never signed is cancelled immediately.
 *
 * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined` or `already_failed`
 */
export function cancelTransaction(ctx: ChangeContext, target: Target): Promise<Changed> {
  return ask(ctx, target, { type: 'RequestCancellation', now: ctx.log.now() })
}

/**
 * Requests a copy with higher fees and the same nonce.
 *
 * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined`, `already_failed` or
 *   `cancellation_requested`
 */
export function speedUpTransaction(ctx: ChangeContext, target: Target, gasPriority: GasPriority): Promise<Changed> {
  return ask(ctx, target, { type: 'RequestSpeedUp', gasPriority, now: ctx.log.now() })
}

async function ask(ctx: ChangeContext, target: Target, command: TransactionCommand): Promise<Changed> {
  const { environment, walletId, transactionId, metadata } = target
  const owner = { tenantId: metadata.tenantId, environment }
  await ctx.transactions.read(owner, walletId, transactionId)
  const changed = { id: transactionId, environment }
  const { replayed } = await acceptChange(ctx, transactionAggregate, changed, command, metadata)
  const warnings = await warningsOf(ctx, transactionId)
  return { view: await ctx.transactions.read(owner, walletId, transactionId), warnings, replayed }
}

async function warningsOf(ctx: ChangeContext, transactionId: string): Promise<Changed['warnings']> {
  const { state } = await ctx.log.load(transactionAggregate, transactionId)
  if (state.state === 'unknown' || wishOf(state) === null) return []
  const { chainId, from: address } = state.intent
  const [[spareWei = 0n], emptyGas, isOverCap] = await Promise.all([
    readSpares(ctx.pool, [{ chainId, address }]),
    emptyTransferGas(createPlainGas(ctx.chainOf(chainId)), address),
    quoteUnderCap(() => ctx.quoteOf(chainId)).then(
      (quote) => quote === null,
      // The request is accepted, whatever the nodes do.
      () => false,
    ),
  ])
  const capWei = ctx.chainOf(chainId).settings.maxFeePerGasWei
  const limit =
    replacementLimit(state, { capWei, spareWei, emptyGas }) ?? (isOverCap ? { kind: 'network' as const, capWei } : null)
  return limit === null ? [] : [limitWarning(limit, state)]
}
