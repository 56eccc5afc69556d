/** Requests of an owner for a pending transaction: cancel it, or pay higher fees. The lane carries them out. */

import type { FeeQuote } from '../chain/fees.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { type AcceptChangePorts, acceptChange } from '../event-log/accept.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import type { GasPriority } from './events.ts'
import type { LaneReads } from './lanes.ts'
import type { EmptyGas } from './plain-gas.ts'
import { quoteUnderCap } from './quote-at.ts'
import type { TransactionReads } from './read-transactions.ts'
import { limitWarning, replacementLimit } from './replacement-limit.ts'
import { wishOf } from './state.ts'
import type { TransactionView } from './view.ts'

export type Changed = {
  readonly view: TransactionView
  /** Why what was requested is not signed yet. */
  readonly warnings: readonly ReturnType<typeof limitWarning>[]
  /** True when an earlier request with the same idempotency key made it; nothing was requested again. */
  readonly replayed: boolean
}

export type ChangeTransaction = {
  /**
   * Requests the cancellation. The status is `cancelled` only once the cancelling transaction has its confirmations; a
   * transaction that was never signed is cancelled immediately.
   *
   * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined` or `already_failed`
   */
  readonly cancel: (target: Target) => Promise<Changed>
  /**
   * Requests a copy with higher fees and the same nonce.
   *
   * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined`, `already_failed` or
   *   `cancellation_requested`
   */
  readonly speedUp: (target: Target, gasPriority: GasPriority) => Promise<Changed>
}

export type Target = {
  readonly environment: Environment
  readonly walletId: string
  readonly transactionId: string
  readonly metadata: Metadata
}

export type ChangeTransactionPorts = AcceptChangePorts & {
  readonly reads: TransactionReads
  readonly quoteOf: (chainId: number) => Promise<FeeQuote>
  /** The hard cap of a chain, wei per gas. */
  readonly capOf: (chainId: number) => bigint
  /** The gas of a cancellation. */
  readonly emptyGas: EmptyGas
  readonly lanes: Pick<LaneReads, 'spare'>
}

export function createChangeTransaction(ports: ChangeTransactionPorts): ChangeTransaction {
  const { log, reads } = ports

  async function ask(target: Target, command: TransactionCommand): Promise<Changed> {
    const { environment, walletId, transactionId, metadata } = target
    const owner = { tenantId: metadata.tenantId, environment }
    await reads.read(owner, walletId, transactionId)
    const changed = { id: transactionId, environment }
    const { replayed } = await acceptChange(ports, transactionAggregate, changed, command, metadata)
    const warnings = await warningsOf(ports, transactionId)
    return { view: await reads.read(owner, walletId, transactionId), warnings, replayed }
  }

  return {
    cancel: (target) => ask(target, { type: 'RequestCancellation', now: log.now() }),
    speedUp: (target, gasPriority) => ask(target, { type: 'RequestSpeedUp', gasPriority, now: log.now() }),
  }
}

async function warningsOf(ports: ChangeTransactionPorts, transactionId: string): Promise<Changed['warnings']> {
  const { state } = await ports.log.load(transactionAggregate, transactionId)
  if (state.state === 'unknown' || wishOf(state) === null) return []
  const { chainId, from: address } = state.intent
  const [spareWei, emptyGas, isOverCap] = await Promise.all([
    ports.lanes.spare({ chainId, address }),
    ports.emptyGas({ chainId, address }),
    quoteUnderCap(() => ports.quoteOf(chainId)).then(
      (quote) => quote === null,
      // The request is accepted, whatever the nodes do.
      () => false,
    ),
  ])
  const capWei = ports.capOf(chainId)
  const limit =
    replacementLimit(state, { capWei, spareWei, emptyGas }) ?? (isOverCap ? { kind: 'network' as const, capWei } : null)
  return limit === null ? [] : [limitWarning(limit, state)]
}
