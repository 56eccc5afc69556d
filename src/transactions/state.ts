/** The state of a transaction: the fold of its events. `evolve` accepts every known event in every state. */
import { largest } from '../core/money.ts'
import { assertNever } from '../core/never.ts'
import type { TransactionType } from '../core/registry.ts'
import { isOpening, type TransactionEvent } from './all-events.ts'
import type {
  Failure,
  Inclusion,
  LaterEvent,
  Lookalike,
  Recovered,
  ReplacementPurpose,
  SettledState,
  SignedBytes,
} from './events.ts'
import type { Fees, GasPriority, Intent } from './intent.ts'
import { kindsOfTransactions } from './kinds.ts'

/** States from which the transaction may still be mined or signed. */
export const UNMINED_STATES = ['requested', 'signed', 'submitted', 'replaced', 'reorged', 'awaiting_funds'] as const
/** Those with signed bytes. */
export const IN_FLIGHT_STATES = UNMINED_STATES.filter((state) => state !== 'requested')
/** Those whose newest bytes no node has accepted. */
export const UNSENT_STATES = IN_FLIGHT_STATES.filter((state) => state !== 'submitted')
/** In a block that is not final: with its own bytes, or with those of its cancellation. */
export const IN_BLOCK_STATES = ['mined', 'cancelling'] as const
export const FINAL_STATES = ['confirmed', 'reverted', 'failed', 'cancelled'] as const
export const TRANSACTION_STATES = [...UNMINED_STATES, ...IN_BLOCK_STATES, ...FINAL_STATES] as const
export type TransactionStateName = (typeof TRANSACTION_STATES)[number]

/** The status values of the API. */
export type TransactionStatus = 'pending' | 'confirmed' | 'failed' | 'cancelled'

export type Attempt = SignedBytes & {
  readonly purpose: 'original' | ReplacementPurpose
  readonly submittedAt: string | null
  /** They existed on chain before the log had them: they are recorded whatever the wallet has. */
  readonly isRecovered?: true
  /** An operator said that these bytes, which have no tag, belong to the request. */
  readonly isClaimed?: true
  /**
   * A cancellation of a transaction that was then reported as confirmed: it is not submitted again, and may still be
   * mined.
   */
  readonly isWithdrawn?: true
}

/** A block; `hash` is `null` when the log names it only by its number. */
export type TakenIn = { readonly number: number; readonly hash: string | null }
/** `takenIn` is the block in which the nonce was used; `null` when the log does not name it. */
export type AbandonedAttempt = Attempt & { readonly takenIn: TakenIn | null }

export type KnownTransaction = {
  readonly state: TransactionStateName
  readonly type: TransactionType
  readonly intent: Intent
  /** Bytes signed for the current nonce, oldest first. Any of them may be mined, but only one. */
  readonly attempts: readonly Attempt[]
  /** Bytes whose nonce another transaction used permanently. */
  readonly abandoned: readonly AbandonedAttempt[]
  /** Hashes of transactions on chain that do the same and belong to another program. */
  readonly rejected: readonly string[]
  /** What an operator must judge before it is signed; `null` for nothing. */
  readonly held: Lookalike | null
  readonly inclusion: Inclusion | null
  readonly failure: Failure | null
  readonly cancellationRequested: boolean
  readonly speedUpRequested: GasPriority | null
  readonly history: readonly HistoryEntry[]
}

export type HistoryEntry = {
  readonly state: TransactionStateName
  readonly at: string
  /** The reported outcome that no longer holds, with the confirmations that its block had when it left the chain. */
  readonly revoked?: { readonly state: SettledState; readonly confirmations: number }
}

export type TransactionState = { readonly state: 'unknown' } | KnownTransaction

export const UNKNOWN_TRANSACTION: TransactionState = { state: 'unknown' }

/** The newest bytes of the current nonce that should be mined. */
export function newestAttempt(transaction: KnownTransaction): Attempt | null {
  return transaction.attempts.findLast(({ isWithdrawn }) => isWithdrawn === undefined) ?? null
}

/** The replacement of its bytes that was requested and is not signed yet. */
export function wishOf(transaction: KnownTransaction): 'cancel' | 'speed_up' | null {
  const newest = newestAttempt(transaction)
  if (newest === null) return null
  if (transaction.cancellationRequested && newest.purpose !== 'cancel') return 'cancel'
  return transaction.speedUpRequested === null ? null : 'speed_up'
}

/** The fees that a replacement must exceed: nodes may have any version, including withdrawn ones. */
export function highestOffer({ attempts }: KnownTransaction): Pick<Fees, 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  const highest = (field: 'maxFeePerGas' | 'maxPriorityFeePerGas') =>
    attempts.reduce((most, { fees }) => largest(most, fees[field]), 0n)
  return { maxFeePerGas: highest('maxFeePerGas'), maxPriorityFeePerGas: highest('maxPriorityFeePerGas') }
}

/** Whether the execution did what its type does, as far as its logs are judged. */
export function hasWorked({ succeeded, effect }: Pick<Inclusion, 'succeeded' | 'effect'>): boolean {
  return succeeded && effect !== 'missing'
}

export function isUnmined(transaction: KnownTransaction): boolean {
  return (UNMINED_STATES as readonly TransactionStateName[]).includes(transaction.state)
}

/** The API status of a state. */
export function statusOf(state: TransactionStateName): TransactionStatus {
  switch (state) {
    case 'confirmed':
    case 'cancelled':
      return state
    case 'reverted':
    case 'failed':
      return 'failed'
    default:
      return 'pending'
  }
}

export function evolve(before: TransactionState, event: TransactionEvent): TransactionState {
  if (isOpening(event)) {
    // A second one would forget what was signed.
    if (before.state !== 'unknown') return before
    return {
      state: 'requested',
      type: kindsOfTransactions()[event.type].type,
      intent: event.data,
      attempts: [],
      abandoned: [],
      rejected: [],
      held: null,
      inclusion: null,
      failure: null,
      cancellationRequested: false,
      speedUpRequested: null,
      history: [{ state: 'requested', at: event.data.requestedAt }],
    }
  }
  return before.state === 'unknown' ? before : evolveKnown(before, event)
}

function evolveKnown(before: KnownTransaction, event: LaterEvent): KnownTransaction {
  switch (event.type) {
    case 'TransactionSigned': {
      const { quote: _, ...bytes } = event.data
      const attempts = [attemptOf({ ...bytes, purpose: 'original' })]
      return enter({ ...before, attempts, held: null }, 'signed', bytes.signedAt)
    }
    case 'TransactionReplaced': {
      const { replacedHash: _, quote: __, ...bytes } = event.data
      const attempts = [...before.attempts, attemptOf(bytes)]
      return enter({ ...before, attempts, speedUpRequested: null, held: null }, 'replaced', bytes.signedAt)
    }
    case 'TransactionSubmitted':
      return enter(
        { ...before, attempts: withSubmission(before.attempts, event.data) },
        'submitted',
        event.data.submittedAt,
      )
    case 'TransactionAwaitingFunds':
      return enter(before, 'awaiting_funds', event.data.refusedAt)
    case 'TransactionMined': {
      const inclusion = event.data
      const state = inclusion.cancels ? 'cancelling' : 'mined'
      return enter({ ...before, inclusion, failure: null }, state, inclusion.minedAt)
    }
    case 'TransactionReorged':
      return enter({ ...before, inclusion: null, failure: null }, 'reorged', event.data.reorgedAt)
    case 'SettlementRevoked': {
      const { outcome, confirmations, revokedAt } = event.data
      const entry: HistoryEntry = { state: 'reorged', at: revokedAt, revoked: { state: outcome, confirmations } }
      const history = [...before.history, entry]
      return { ...before, state: 'reorged', inclusion: null, failure: null, history }
    }
    case 'TransactionConfirmed':
      return enter(withoutWishes(before), 'confirmed', event.data.confirmedAt)
    case 'TransactionReverted':
      return enter(
        { ...before, failure: failureOf({ ...event.data, message: event.data.reason }) },
        'reverted',
        event.data.revertedAt,
      )
    case 'TransactionFailed':
      return enter({ ...before, failure: failureOf(event.data) }, 'failed', event.data.failedAt)
    case 'CancellationRequested':
      return { ...before, cancellationRequested: true, speedUpRequested: null }
    case 'SpeedUpRequested':
      return { ...before, speedUpRequested: event.data.gasPriority }
    case 'TransactionCancelled':
      return enter(before, 'cancelled', event.data.cancelledAt)
    case 'NonceConsumedExternally': {
      const { takenBy } = event.data
      const takenIn = takenBy === undefined ? null : { number: takenBy.blockNumber, hash: takenBy.blockHash ?? null }
      const lost = before.attempts.map((attempt) => ({ ...attempt, takenIn }))
      return enter(
        { ...before, attempts: [], abandoned: [...before.abandoned, ...lost] },
        'requested',
        event.data.foundAt,
      )
    }
    case 'LookalikeRejected':
      return withoutLookalike(before, event.data.hash)
    case 'LookalikeHeld': {
      const { hash, nonce, why } = event.data
      return { ...before, held: { hash, nonce, why } }
    }
    default:
      return assertNever(event)
  }
}

function failureOf({
  code = 'execution_reverted',
  message,
  revertedBy,
}: Partial<Failure> & Pick<Failure, 'message'>): Failure {
  return { code, message, ...(revertedBy === undefined ? {} : { revertedBy }) }
}

function attemptOf({
  recovered,
  claimed,
  ...bytes
}: SignedBytes & Recovered & { readonly purpose: Attempt['purpose'] }): Attempt {
  return {
    ...bytes,
    submittedAt: null,
    ...(recovered === undefined ? {} : { isRecovered: recovered }),
    ...(claimed === undefined ? {} : { isClaimed: claimed }),
  }
}

function withoutLookalike(before: KnownTransaction, hash: string): KnownTransaction {
  const held = before.held?.hash === hash ? null : before.held
  return { ...before, rejected: [...before.rejected, hash], held }
}

/** An owner who was told that the payment is confirmed wants it on every branch: a late cancel request is dropped. */
function withoutWishes(transaction: KnownTransaction): KnownTransaction {
  const attempts = transaction.attempts.map((attempt) =>
    attempt.purpose === 'cancel' ? ({ ...attempt, isWithdrawn: true } as const) : attempt,
  )
  return { ...transaction, attempts, cancellationRequested: false, speedUpRequested: null }
}

function enter(transaction: KnownTransaction, state: TransactionStateName, at: string): KnownTransaction {
  return { ...transaction, state, history: [...transaction.history, { state, at }] }
}

function withSubmission(attempts: readonly Attempt[], submission: { hash: string; submittedAt: string }): Attempt[] {
  return attempts.map((attempt) =>
    attempt.hash === submission.hash ? { ...attempt, submittedAt: submission.submittedAt } : attempt,
  )
}
