/** Requests of an owner for a pending transaction: cancel it, or pay higher fees. The lane carries them out. */

import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { type AcceptChangePorts, acceptChange } from '../event-log/accept-change.ts'
import { transactionAggregate } from './aggregate.ts'
import type { TransactionCommand } from './decider.ts'
import type { GasPriority } from './events.ts'
import type { TransactionReads } from './read-transactions.ts'
import type { TransactionView } from './view.ts'

export type Changed = {
  readonly view: TransactionView
  /** True when an earlier request with the same idempotency key made it; nothing was requested again. */
  readonly replayed: boolean
}

export type ChangeTransaction = {
  /**
   * Requests the cancellation. The status is `cancelled` only once the cancelling transaction is mined; a transaction
   * that was never signed is cancelled immediately.
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

export type ChangeTransactionPorts = AcceptChangePorts & { readonly reads: TransactionReads }

export function createChangeTransaction(ports: ChangeTransactionPorts): ChangeTransaction {
  const { log, reads } = ports

  async function ask(target: Target, command: TransactionCommand): Promise<Changed> {
    const { environment, walletId, transactionId, metadata } = target
    const owner = { tenantId: metadata.tenantId, environment }
    await reads.read(owner, walletId, transactionId)
    const { replayed } = await acceptChange(ports, transactionAggregate, transactionId, command, metadata)
    return { view: await reads.read(owner, walletId, transactionId), replayed }
  }

  return {
    cancel: (target) => ask(target, { type: 'RequestCancellation', now: log.now() }),
    speedUp: (target, gasPriority) => ask(target, { type: 'RequestSpeedUp', gasPriority, now: log.now() }),
  }
}
