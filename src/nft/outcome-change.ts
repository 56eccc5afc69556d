/** How an event of its transaction changes the outcome of an NFT operation. Pure. */
import type { PublishSource } from '../capability.ts'
import { ofOpenings, type TransactionEvent } from '../transactions/all-events.ts'
import type { TransactionAtEvent } from '../transactions/fold-view.ts'
import { hasWorked, type KnownTransaction, newestAttempt } from '../transactions/state.ts'
import { type Fate, type Outcome, outcomeOf } from './outcome.ts'

export type TransactionSource = PublishSource<TransactionAtEvent, TransactionEvent>

/** `reorged`: the operation is pending again. */
export type OutcomeChange = 'done' | 'failed' | 'reorged'

/** The public types for each event of a transaction: those for each change of the outcome. */
export function outcomeEvents<const Type extends string>(
  types: Readonly<Record<OutcomeChange, readonly Type[]>>,
): { readonly [Name in TransactionEvent['type']]: readonly Type[] } {
  const { done, failed, reorged } = types
  return {
    ...ofOpenings([]),
    TransactionSigned: [],
    TransactionReplaced: [],
    TransactionSubmitted: [],
    TransactionAwaitingFunds: [],
    TransactionMined: done,
    TransactionReorged: reorged,
    SettlementRevoked: reorged,
    TransactionConfirmed: [],
    TransactionReverted: failed,
    TransactionFailed: failed,
    CancellationRequested: [],
    SpeedUpRequested: [],
    TransactionCancelled: failed,
    NonceConsumedExternally: [],
    LookalikeRejected: [],
    LookalikeHeld: [],
  }
}

/** The outcome after the newest event; null if that event does not change it. */
export function outcomeChange({
  before: { transaction: before },
  after: { transaction: after },
}: TransactionSource): { readonly change: OutcomeChange; readonly fate: Fate } | null {
  if (before.state === 'unknown' || after.state === 'unknown') return null
  const [from, to] = [outcomeIn(before), outcomeIn(after)]
  if (from === to) return null
  return { change: to === 'pending' ? 'reorged' : to, fate: fateOf(after) }
}

/** The fate of an operation whose transaction was just requested. */
export const REQUESTED: Fate = { state: 'requested', succeeded: null, hash: null, failure: null }

/** The id of the resource that the transaction belongs to, if it is of this type. */
export function subjectOf({ first }: TransactionSource, type: string): string | null {
  const subject = 'subject' in first.data ? first.data.subject : null
  return subject?.type === type ? subject.id : null
}

function fateOf(transaction: KnownTransaction): Fate {
  const { state, inclusion, failure } = transaction
  const hash = inclusion?.hash ?? newestAttempt(transaction)?.hash ?? null
  return { state, succeeded: inclusion === null ? null : hasWorked(inclusion), hash, failure }
}

/** A block with the cancellation is not the outcome. In older logs its state is that of any other block. */
export function outcomeIn(transaction: KnownTransaction): Outcome {
  const { attempts, inclusion } = transaction
  const mined = attempts.find(({ hash }) => hash === inclusion?.hash)
  return transaction.state === 'mined' && mined?.purpose === 'cancel' ? 'pending' : outcomeOf(fateOf(transaction))
}
