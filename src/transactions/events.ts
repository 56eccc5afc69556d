/**
 * The events that follow the opening one: the same for every kind of transaction. Amounts, fees and gas are bigint: base units,
 * wei, gas units. The log stores their digits (`core/recorded.ts`).
 */

import type { Event } from '../core/messages.ts'

/** Why other bytes than the first were signed for the same nonce. */
import type { Fees, GasPriority, Quote } from './intent.ts'

export type ReplacementPurpose = 'bump' | 'speed_up' | 'cancel'

export type SignedBytes = {
  readonly nonce: number
  readonly hash: string
  readonly rawTransaction: string
  readonly fees: Fees
  readonly signedAt: string
}

/** A log of a receipt; addresses, topics and data in lower case. */
export type RecordedLog = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  /** Index in the block. */
  readonly logIndex: number
}

/** The logs of a receipt in order. `cut`: it had more than are recorded. */
export type RecordedLogs = { readonly entries: readonly RecordedLog[]; readonly cut: boolean }

export type Inclusion = {
  readonly hash: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly succeeded: boolean
  /**
   * For a successful token transfer: base units that the token's Transfer logs show from the sender to the recipient;
   * `null` without such a log. Missing for everything else, for transfers to the sender itself, and in older events.
   */
  readonly moved?: bigint | null
  /**
   * Of a successful execution of a type with a rule: whether its logs show what the type does. `missing`: for example, no
   * contract was there. Missing for everything else, and in older events.
   */
  readonly effect?: 'logged' | 'missing'
  /**
   * The logs of the receipt, for types whose declaration says `keepsLogs`; `null` for all others, for cancellations, and
   * in events from before logs were recorded.
   */
  readonly logs: RecordedLogs | null
  /**
   * The bytes are a cancellation, which is told once it is final. Missing for everything else, and in older logs, which
   * told it at once.
   */
  readonly cancels?: true
  readonly gasUsed: bigint
  readonly effectiveGasPrice: bigint
  /** The timestamp of the block. */
  readonly blockTimestamp: string
  /** When the follower processed the block. */
  readonly minedAt: string
}

/**
 * Bytes signed before the database was restored to an earlier state, and found on chain; `signedAt` is when they were
 * found. `claimed`: they have no tag, and an operator said that they belong to this request.
 */
export type Recovered = { readonly recovered?: true; readonly claimed?: true }

/** `quote` is the basis of the fees; `null` in events from before quotes were recorded. */
export type TransactionSigned = Event<'TransactionSigned', SignedBytes & Recovered & { quote: Quote | null }>
export type TransactionReplaced = Event<
  'TransactionReplaced',
  SignedBytes & Recovered & { purpose: ReplacementPurpose; replacedHash: string; quote: Quote | null }
>
export type TransactionSubmitted = Event<'TransactionSubmitted', { hash: string; submittedAt: string }>
export type TransactionAwaitingFunds = Event<'TransactionAwaitingFunds', { hash: string; refusedAt: string }>
export type TransactionMined = Event<'TransactionMined', Inclusion>
export type TransactionReorged = Event<
  'TransactionReorged',
  { hash: string; blockNumber: number; blockHash: string; reorgedAt: string }
>
/**
 * A block that had settled the transaction left the chain: the outcome reported to its owner no longer holds. The state
 * is as after `TransactionReorged`, which older logs have instead.
 */
export type SettlementRevoked = Event<
  'SettlementRevoked',
  {
    /** The reported outcome. */
    outcome: SettledState
    hash: string
    blockNumber: number
    blockHash: string
    /** The confirmations that the block had when it left the chain: the depth of the reorg. */
    confirmations: number
    revokedAt: string
  }
>
export type TransactionConfirmed = Event<
  'TransactionConfirmed',
  { blockNumber: number; confirmations: number; confirmedAt: string }
>
/**
 * Settled without effect. Without a `code` its execution failed. `revertedBy`: see `Failure`.
 */
export type TransactionReverted = Event<
  'TransactionReverted',
  {
    blockNumber: number
    confirmations: number
    reason: string
    revertedAt: string
    code?: 'token_not_moved' | 'no_effect'
    revertedBy?: string | null
  }
>
export type TransactionFailed = Event<'TransactionFailed', Failure & { failedAt: string }>
export type CancellationRequested = Event<'CancellationRequested', { requestedAt: string }>
export type SpeedUpRequested = Event<'SpeedUpRequested', { gasPriority: GasPriority; requestedAt: string }>
/**
 * `hash`: the cancellation, with its block and confirmations, which older logs do not have; null for what no block needs
 * to cancel.
 */
export type TransactionCancelled = Event<
  'TransactionCancelled',
  { hash: string | null; cancelledAt: string; blockNumber?: number; confirmations?: number }
>
/**
 * The transaction that used a nonce, or carried an authorization that did (EIP-7702), and its block. Its hash is missing in
 * events from before it was recorded.
 */
export type TakenBy = { readonly hash: string; readonly blockNumber: number; readonly blockHash?: string }
/** Proof that another transaction used the nonce, in a finalized block: only then may a new nonce be signed. */
export type NonceConsumedExternally = Event<
  'NonceConsumedExternally',
  {
    nonce: number
    finalizedBlock: number
    foundAt: string
    /** The location of the proof; missing in events from before it was recorded. */
    takenBy?: TakenBy
  }
>

/**
 * A transaction on chain does what this one requests, and belongs to another program: its fees do not have the tag of
 * this request, or an operator said so of bytes from before there were tags. It never counts as this request's.
 */
export type LookalikeRejected = Event<
  'LookalikeRejected',
  { hash: string; nonce: number; by: 'tag' | 'operator'; rejectedAt: string }
>

/**
 * A transaction on chain may be a signature of this request that the log has forgotten, and an operator must say whether
 * it is. `no_tag`: it does the same, and older versions signed without tags. `other_call`: it has the tag of this
 * request, which was repeated with the same idempotency key, and does something else.
 */
export type LookalikeHeld = Event<'LookalikeHeld', Lookalike & { heldAt: string }>
export type Lookalike = { readonly hash: string; readonly nonce: number; readonly why: 'no_tag' | 'other_call' }

/** The outcomes of a mined transaction. */
export type SettledState = 'confirmed' | 'reverted' | 'cancelled'

export type FailureCode =
  | 'insufficient_funds'
  | 'execution_reverted'
  | 'nonce_conflict_external'
  | 'expired'
  | 'fee_cap_exceeded'
  | 'dependency_failed'
  /** Before signing: the token's `transfer` returned false. */
  | 'token_transfer_refused'
  /** In its block: the execution succeeded, and the token's contract logged no transfer. */
  | 'token_not_moved'
  /** In its block: the execution succeeded, and the called contract logged nothing of what was requested. */
  | 'no_effect'
  /** Before signing: no node could simulate it for a day. */
  | 'not_simulated'

/**
 * `revertedBy`: of a swap that reverted, the contract that did: the called one, or the one that it called and whose
 * revert it passed on; null where no node said it. Missing for everything else, and in older events.
 */
export type Failure = { readonly code: FailureCode; readonly message: string; readonly revertedBy?: string | null }

/** The events after the first. */
export type LaterEvent =
  | TransactionSigned
  | TransactionReplaced
  | TransactionSubmitted
  | TransactionAwaitingFunds
  | TransactionMined
  | TransactionReorged
  | SettlementRevoked
  | TransactionConfirmed
  | TransactionReverted
  | TransactionFailed
  | CancellationRequested
  | SpeedUpRequested
  | TransactionCancelled
  | NonceConsumedExternally
  | LookalikeRejected
  | LookalikeHeld

/** `fingerprint`: 16 hex digits of a digest of the key, which say nothing about it. */
export type TagKeyAdopted = Event<'TagKeyAdopted', { fingerprint: string; adoptedAt: string }>
