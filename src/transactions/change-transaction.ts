/** What an owner may still ask of a transaction on its way: to cancel it, or to pay more for it. The lane does the rest. */
import { IdempotencyKeyReused } from '../core/errors.ts'
import type { NewId } from '../core/ids.ts'
import type { Metadata } from '../core/messages.ts'
import type { Environment } from '../core/networks.ts'
import { IdempotentReplay } from '../event-log/commit.ts'
import type { FindReplay } from '../event-log/find-replay.ts'
import type { EventLog } from '../event-log/log.ts'
import type { TransactionCommand } from './decider.ts'
import type { GasPriority } from './events.ts'
import { transactionAggregate } from './projection.ts'
import type { TransactionReads } from './read-transactions.ts'
import type { TransactionView } from './view.ts'

export type Changed = {
  readonly view: TransactionView
  /** True when an earlier request with the same idempotency key asked for it; nothing more was asked. */
  readonly replayed: boolean
}

export type ChangeTransaction = {
  /**
   * Asks for the cancellation. Said to be `cancelled` only once the cancelling transaction is mined; one that was never
   * signed is cancelled at once.
   *
   * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined` or `already_failed`
   */
  readonly cancel: (target: Target) => Promise<Changed>
  /**
   * Asks for a dearer copy with the same nonce.
   *
   * @throws NotFound, PermissionDenied, IdempotencyKeyReused, Conflict `already_mined`, `already_failed` or
   *   `cancellation_requested`
   */
  readonly speedUp: (target: Target, gasPriority: GasPriority) => Promise<Changed>
}

type Target = {
  readonly environment: Environment
  readonly walletId: string
  readonly transactionId: string
  readonly metadata: Metadata
}

export type ChangeTransactionPorts = {
  readonly log: EventLog
  readonly reads: TransactionReads
  readonly findReplay: FindReplay
  readonly newId: NewId
}

export function createChangeTransaction(ports: ChangeTransactionPorts): ChangeTransaction {
  const { log, reads } = ports

  async function ask(target: Target, command: TransactionCommand): Promise<Changed> {
    const { environment, walletId, transactionId, metadata } = target
    const owner = { tenantId: metadata.tenantId, environment }
    await reads.read(owner, walletId, transactionId)
    const replayed = await executeOnce(ports, transactionId, command, metadata)
    return { view: await reads.read(owner, walletId, transactionId), replayed }
  }

  return {
    cancel: (target) => ask(target, { type: 'RequestCancellation', now: log.now() }),
    speedUp: (target, gasPriority) => ask(target, { type: 'RequestSpeedUp', gasPriority, now: log.now() }),
  }
}

/** True when the key of the request was used before: a second speed-up would pay more a second time. */
async function executeOnce(
  { log, findReplay, newId }: ChangeTransactionPorts,
  transactionId: string,
  command: TransactionCommand,
  metadata: Metadata,
): Promise<boolean> {
  if ((await findReplay(metadata)) !== null) return true
  const { tenantId, idempotency } = metadata
  // What the key names is the asking, not the transaction: two that ask at the same instant must not both be the first.
  const asking = idempotency && { ...idempotency, resourceId: newId('request') }
  const guards = asking ? { idempotency: { tenantId, ...asking } } : {}
  // In the event too: nothing else tells it when the table of keys is made again.
  const recorded = asking ? { ...metadata, idempotency: asking } : metadata
  try {
    await log.execute(transactionAggregate, transactionId, command, { metadata: recorded, guards })
    return false
  } catch (error) {
    if (!(error instanceof IdempotentReplay)) throw error
    if (error.fingerprint !== idempotency?.fingerprint) throw new IdempotencyKeyReused()
    return true
  }
}
