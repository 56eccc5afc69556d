/**
 * The allowed transitions of a transaction, defined only here. Pure: time, signatures and chain results come with the
 * command. A command that is already fulfilled produces no event.
 */
import { BursarError, Conflict } from '../core/errors.ts'
import type { Decider } from '../core/messages.ts'
import { assertNever } from '../core/never.ts'
import type { Opening } from '../core/registry.ts'
import type { TransactionEvent } from './all-events.ts'
import type { Failure, Inclusion, Lookalike, Recovered, ReplacementPurpose, SignedBytes, TakenBy } from './events.ts'
import type { GasPriority, Intent, Quote } from './intent.ts'
import { type Settling, settle } from './settle-decider.ts'
import {
  evolve,
  isUnmined,
  type KnownTransaction,
  newestAttempt,
  type TransactionState,
  UNKNOWN_TRANSACTION,
} from './state.ts'

export type TransactionCommand =
  | { readonly type: 'RequestTransaction'; readonly opening: Opening; readonly intent: Intent }
  | ({
      readonly type: 'RecordSignature'
      readonly signed: SignedBytes
      readonly quote?: Quote
    } & Recovered)
  | ({
      readonly type: 'RecordReplacement'
      readonly signed: SignedBytes
      readonly purpose: ReplacementPurpose
      readonly quote?: Quote
    } & Recovered)
  /** `insteadOf` names the newest bytes when an older version was submitted, which the wallet can pay for. */
  | { readonly type: 'RecordSubmission'; readonly hash: string; readonly insteadOf?: string; readonly now: string }
  | { readonly type: 'RecordShortFunds'; readonly hash: string; readonly now: string }
  | { readonly type: 'RecordInclusion'; readonly inclusion: Inclusion }
  /** `head` is the number of the newest block of the abandoned branch. */
  | { readonly type: 'RecordReorg'; readonly head: number; readonly now: string }
  | ({ readonly type: 'Settle' } & Settling)
  | ({ readonly type: 'FailUnsigned'; readonly now: string } & Failure)
  | { readonly type: 'RequestCancellation'; readonly now: string }
  | { readonly type: 'RequestSpeedUp'; readonly gasPriority: GasPriority; readonly now: string }
  | {
      readonly type: 'RecordForeignNonce'
      readonly nonce: number
      readonly finalizedBlock: number
      readonly takenBy: TakenBy
      readonly now: string
    }
  | {
      readonly type: 'RejectLookalike'
      readonly hash: string
      readonly nonce: number
      readonly by: 'tag' | 'operator'
      readonly now: string
    }
  | { readonly type: 'HoldLookalike'; readonly lookalike: Lookalike; readonly now: string }

/** A worker's command that is invalid in this state: a defect, never a caller's error. */
export class InvalidTransition extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'invalid_transition'
  constructor(command: string, state: string) {
    super(`${command} cannot follow ${state}.`)
  }
}

/** After this many foreign transactions took its nonces, the transaction fails. */
export const MAX_FOREIGN_NONCES = 3

export const transactionDecider: Decider<TransactionState, TransactionCommand, TransactionEvent> = {
  initialState: UNKNOWN_TRANSACTION,
  evolve,
  decide(command, state) {
    if (command.type === 'RequestTransaction') {
      if (state.state !== 'unknown') throw new InvalidTransition(command.type, state.state)
      return [{ type: command.opening, data: command.intent }]
    }
    if (state.state === 'unknown') throw new InvalidTransition(command.type, state.state)
    return decideKnown(command, state)
  },
}

function decideKnown(
  command: Exclude<TransactionCommand, { type: 'RequestTransaction' }>,
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  switch (command.type) {
    case 'RecordSignature':
      if (transaction.state !== 'requested') throw new InvalidTransition(command.type, transaction.state)
      return [
        {
          type: 'TransactionSigned',
          data: { ...command.signed, ...mark(command), quote: command.quote ?? null },
        },
      ]
    case 'RecordReplacement':
      return recordReplacement(command, transaction)
    case 'RecordSubmission':
      return recordSubmission(command, transaction)
    case 'RecordShortFunds':
      if (!awaitsAnswer(transaction, command.hash) || transaction.state === 'awaiting_funds') return []
      return [{ type: 'TransactionAwaitingFunds', data: { hash: command.hash, refusedAt: command.now } }]
    case 'RecordInclusion':
      return recordInclusion(command.inclusion, transaction)
    case 'RecordReorg':
      return recordReorg(command, transaction)
    case 'Settle':
      return settle(command, transaction)
    case 'FailUnsigned': {
      const { type: _, now, ...failure } = command
      return transaction.state === 'requested'
        ? [{ type: 'TransactionFailed', data: { ...failure, failedAt: now } }]
        : []
    }
    case 'RequestCancellation':
      return requestCancellation(command.now, transaction)
    case 'RequestSpeedUp':
      return requestSpeedUp(command, transaction)
    case 'RecordForeignNonce':
      return recordForeignNonce(command, transaction)
    case 'RejectLookalike':
      return rejectLookalike(command, transaction)
    case 'HoldLookalike':
      if (!isUnmined(transaction) || transaction.held?.hash === command.lookalike.hash) return []
      return [{ type: 'LookalikeHeld', data: { ...command.lookalike, heldAt: command.now } }]
    default:
      return assertNever(command)
  }
}

function mark({ recovered, claimed }: Recovered): Recovered {
  return { ...(recovered ? { recovered } : {}), ...(claimed ? { claimed } : {}) }
}

type Replacing = Recovered & {
  readonly signed: SignedBytes
  readonly purpose: ReplacementPurpose
  readonly quote?: Quote | null
}

function recordReplacement(
  { signed, purpose, quote = null, ...found }: Replacing,
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  const newest = newestAttempt(transaction)
  if (!isUnmined(transaction) || newest === null) return []
  if (newest.nonce !== signed.nonce) throw new InvalidTransition('RecordReplacement', transaction.state)
  return [
    {
      type: 'TransactionReplaced',
      data: { ...signed, ...mark(found), purpose, replacedHash: newest.hash, quote },
    },
  ]
}

/** Not for bytes that were mined or replaced, or lost their nonce, before the answer of the node arrived. */
const awaitsAnswer = (one: KnownTransaction, hash: string) => isUnmined(one) && newestAttempt(one)?.hash === hash

function recordSubmission(
  { hash, insteadOf = hash, now }: { readonly hash: string; readonly insteadOf?: string; readonly now: string },
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  if (!awaitsAnswer(transaction, insteadOf) || transaction.state === 'submitted') return []
  return [{ type: 'TransactionSubmitted', data: { hash, submittedAt: now } }]
}

function recordInclusion(inclusion: Inclusion, transaction: KnownTransaction): readonly TransactionEvent[] {
  const attempt = [...transaction.attempts, ...transaction.abandoned].find(({ hash }) => hash === inclusion.hash)
  if (attempt === undefined) throw new InvalidTransition('RecordInclusion', transaction.state)
  const before = transaction.inclusion
  if (before !== null && before.hash === inclusion.hash && before.blockHash === inclusion.blockHash) return []
  const orphaned =
    before === null ? [] : recordReorg({ head: inclusion.blockNumber, now: inclusion.minedAt }, transaction)
  const mined = attempt.purpose === 'cancel' ? ({ ...inclusion, cancels: true } as const) : inclusion
  return [...orphaned, { type: 'TransactionMined', data: mined }]
}

/** A settled state was reported to the owner as final, so an event must revoke it. */
function recordReorg(
  { head, now }: { readonly head: number; readonly now: string },
  { state, inclusion }: KnownTransaction,
): readonly TransactionEvent[] {
  if (inclusion === null) return []
  const { hash, blockNumber, blockHash } = inclusion
  const block = { hash, blockNumber, blockHash }
  if (state !== 'confirmed' && state !== 'reverted' && state !== 'cancelled')
    return [{ type: 'TransactionReorged', data: { ...block, reorgedAt: now } }]
  const confirmations = Math.max(1, head - blockNumber + 1)
  return [{ type: 'SettlementRevoked', data: { outcome: state, ...block, confirmations, revokedAt: now } }]
}

function requestCancellation(now: string, transaction: KnownTransaction): readonly TransactionEvent[] {
  if (isCancelled(transaction)) return []
  if (transaction.state === 'failed')
    throw new Conflict('already_failed', 'The transaction has already failed: there is nothing to cancel.')
  if (!isUnmined(transaction))
    throw new Conflict('already_mined', 'The transaction is already in a block: it cannot be cancelled.')
  if (transaction.cancellationRequested) return []
  const requested: TransactionEvent = { type: 'CancellationRequested', data: { requestedAt: now } }
  if (transaction.attempts.length > 0) return [requested]
  return [requested, { type: 'TransactionCancelled', data: { hash: null, cancelledAt: now } }]
}

/** Whether its cancellation is in a block, or it needs none. */
function isCancelled({ state }: KnownTransaction): boolean {
  return state === 'cancelling' || state === 'cancelled'
}

function requestSpeedUp(
  { gasPriority, now }: { readonly gasPriority: GasPriority; readonly now: string },
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  if (transaction.cancellationRequested || isCancelled(transaction)) {
    throw new Conflict('cancellation_requested', 'The transaction is being cancelled: it cannot be sped up.')
  }
  if (transaction.state === 'failed')
    throw new Conflict('already_failed', 'The transaction has already failed: there is nothing to speed up.')
  if (!isUnmined(transaction))
    throw new Conflict('already_mined', 'The transaction is already in a block: there is nothing to speed up.')
  if (transaction.speedUpRequested === gasPriority) return []
  return [{ type: 'SpeedUpRequested', data: { gasPriority, requestedAt: now } }]
}

function rejectLookalike(
  { hash, nonce, by, now }: Extract<TransactionCommand, { readonly type: 'RejectLookalike' }>,
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  const isOwn = [...transaction.attempts, ...transaction.abandoned].some((attempt) => attempt.hash === hash)
  if (!isUnmined(transaction) || isOwn || transaction.rejected.includes(hash)) return []
  return [{ type: 'LookalikeRejected', data: { hash, nonce, by, rejectedAt: now } }]
}

function recordForeignNonce(
  {
    nonce,
    finalizedBlock,
    takenBy,
    now,
  }: {
    readonly nonce: number
    readonly finalizedBlock: number
    readonly takenBy: TakenBy
    readonly now: string
  },
  transaction: KnownTransaction,
): readonly TransactionEvent[] {
  if (!isUnmined(transaction) || newestAttempt(transaction)?.nonce !== nonce) return []
  const consumed: TransactionEvent = {
    type: 'NonceConsumedExternally',
    data: { nonce, finalizedBlock, takenBy, foundAt: now },
  }
  // A gap filler whose nonce another transaction used is no longer needed.
  if (transaction.cancellationRequested || transaction.type === 'NONCE_FILL') {
    return [consumed, { type: 'TransactionCancelled', data: { hash: null, cancelledAt: now } }]
  }
  const foreignNonces = new Set(transaction.abandoned.map(({ nonce }) => nonce)).size + 1
  if (foreignNonces < MAX_FOREIGN_NONCES) return [consumed]
  const message = `Another program sent from this address and used the nonce of this transaction ${foreignNonces} times: make sure that only Bursar sends from it.`
  return [consumed, { type: 'TransactionFailed', data: { code: 'nonce_conflict_external', message, failedAt: now } }]
}
