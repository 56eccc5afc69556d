/** Requests of an owner for a pending transaction: cancel it, or pay higher fees. The lane carries them out. */

import { forResource, type Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import type { NewId } from '../declarations.ts'
import type { Accept, Accepted } from '../event-log/accept.ts'
import { change } from '../event-log/aggregate.ts'
import type { EventLog } from '../event-log/log.ts'
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

export type ChangeTransactionPorts = {
  readonly log: Pick<EventLog, 'load' | 'now'>
  readonly accept: Accept
  readonly reads: TransactionReads
  readonly newId: NewId
}

export function createChangeTransaction(ports: ChangeTransactionPorts): ChangeTransaction {
  const { log, reads } = ports

  async function ask(target: Target, command: TransactionCommand): Promise<Changed> {
    const { environment, walletId, transactionId, metadata } = target
    const owner = { tenantId: metadata.tenantId, environment }
    await reads.read(owner, walletId, transactionId)
    const { replayed } = await askOnce(ports, transactionId, command, metadata)
    return { view: await reads.read(owner, walletId, transactionId), replayed }
  }

  return {
    cancel: (target) => ask(target, { type: 'RequestCancellation', now: log.now() }),
    speedUp: (target, gasPriority) => ask(target, { type: 'RequestSpeedUp', gasPriority, now: log.now() }),
  }
}

/** A used key requests nothing: a repeated speed-up would pay more a second time. */
function askOnce(
  { log, accept, newId }: ChangeTransactionPorts,
  transactionId: string,
  command: TransactionCommand,
  metadata: Metadata,
): Promise<Accepted> {
  return accept(
    metadata,
    async (append) => {
      // The key belongs to the request, not the transaction: of two concurrent ones only one is the first.
      const id = newId('request')
      const loaded = await log.load(transactionAggregate, transactionId)
      const changed = change(transactionAggregate, loaded, command, {
        metadata: forResource(metadata, id),
        now: log.now(),
      })
      if (changed === null) return { id, replayed: false, made: null }
      return append({ id, commit: { changes: [changed] }, made: null })
    },
    { replayFirst: true },
  )
}
