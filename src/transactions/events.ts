/**
 * The facts of a transaction's life. One opening intent says what the owner wants; the rest is the same for every kind
 * of transaction. Amounts, fees and gas are decimal digits in strings: base units, wei, gas units.
 */
import type { Event } from '../core/messages.ts'
import type { Environment, Network } from '../core/networks.ts'

export type GasPriority = 'low' | 'medium' | 'high'

export type AssetRef = {
  /** CAIP-19: `eip155:1/slip44:60`, `eip155:1/erc20:0x…`. */
  readonly assetId: string
  readonly symbol: string
  readonly decimals: number
  /** The ERC-20 contract; `null` for the native currency. */
  readonly contract: string | null
}

export type Fees = { readonly gasLimit: string; readonly maxFeePerGas: string; readonly maxPriorityFeePerGas: string }

/** What the network asked when fees were decided on, at the priority that was decided for; wei for one unit of gas. */
export type RecordedQuote = {
  readonly baseFeePerGas: string
  readonly maxFeePerGas: string
  readonly maxPriorityFeePerGas: string
}

/** What a transaction serves, for those who look it up from there. */
export const SUBJECT_TYPES = ['collection', 'mint', 'nft_transfer', 'token', 'checkpoint'] as const
export type SubjectType = (typeof SUBJECT_TYPES)[number]
export type Subject = { readonly type: SubjectType; readonly id: string }

/** What every opening intent says. */
export type Intent = {
  readonly tenantId: string
  readonly walletId: string
  readonly network: Network
  readonly environment: Environment
  readonly chainId: number
  readonly from: string
  /** Who receives the asset; with `data`, the contract that is called. */
  readonly to: string
  /** With `data`, the native currency. */
  readonly asset: AssetRef
  readonly amount: string
  /** Call data, `0x` and hex digits; `null` for a transfer, whose call follows from the asset. */
  readonly data: string | null
  /** The transaction that must be mined and have succeeded before this one is signed. */
  readonly dependsOn: string | null
  readonly subject: Subject | null
  readonly gasPriority: GasPriority
  /** What was held back for gas when the request was accepted: `gasLimit · maxFeePerGas` at most. */
  readonly reserved: { readonly gasLimit: string; readonly maxFeePerGas: string }
  /** What that was decided on; `null` in what was recorded before quotes were. */
  readonly quote: RecordedQuote | null
  readonly referenceId: string | null
  readonly memo: string | null
  readonly validUntil: string | null
  readonly estimatedCompletionAt: string
  readonly requestedAt: string
}

/** Why other bytes than the first were signed for the same nonce. */
export type ReplacementPurpose = 'bump' | 'speed_up' | 'cancel'

export type SignedBytes = {
  readonly nonce: number
  readonly hash: string
  readonly rawTransaction: string
  readonly fees: Fees
  readonly signedAt: string
}

export type Inclusion = {
  readonly hash: string
  readonly blockNumber: number
  readonly blockHash: string
  readonly succeeded: boolean
  /**
   * Of a transfer of a token whose execution succeeded: base units that the Transfer logs of the token show from the sender to
   * the recipient; `null` where there is no such log. Missing for everything else, for what a wallet sends to itself, and in what was
   * recorded before this was.
   */
  readonly moved?: string | null
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  /** The block's own time. */
  readonly blockTimestamp: string
  /** When the follower saw the block. */
  readonly minedAt: string
}

/** The events that open a transaction, and what each of them makes it: the one place that knows. */
export const TRANSACTION_TYPES = {
  TransferRequested: 'TRANSFER',
  CollectionDeployRequested: 'NFT_DEPLOY',
  MintRequested: 'NFT_MINT',
  NftTransferRequested: 'NFT_TRANSFER',
  TokenUpdateRequested: 'NFT_UPDATE',
  VoucherRevocationRequested: 'NFT_REVOKE',
  /** An operator puts a signed head of the log on chain. */
  CheckpointAnchorRequested: 'AUDIT_ANCHOR',
  /** Asked for by a lane itself: nobody has the nonce that all of its others wait for. */
  NonceFillRequested: 'NONCE_FILL',
} as const
export type Opening = keyof typeof TRANSACTION_TYPES
export type TransactionType = (typeof TRANSACTION_TYPES)[Opening]

export type OpeningEvent = { [Type in Opening]: Event<Type, Intent> }[Opening]

export function isOpening(event: TransactionEvent): event is OpeningEvent {
  return event.type in TRANSACTION_TYPES
}

/** Bytes that were signed before the database went back to an earlier state, and that the chain had kept; `signedAt` is then when they were found. */
export type Recovered = { readonly recovered?: true }

/** `quote` is what the fees were decided on; `null` in what was recorded before quotes were. */
export type TransactionSigned = Event<'TransactionSigned', SignedBytes & Recovered & { quote: RecordedQuote | null }>
export type TransactionReplaced = Event<
  'TransactionReplaced',
  SignedBytes & Recovered & { purpose: ReplacementPurpose; replacedHash: string; quote: RecordedQuote | null }
>
export type TransactionSubmitted = Event<'TransactionSubmitted', { hash: string; submittedAt: string }>
export type TransactionAwaitingFunds = Event<'TransactionAwaitingFunds', { hash: string; refusedAt: string }>
export type TransactionMined = Event<'TransactionMined', Inclusion>
export type TransactionReorged = Event<
  'TransactionReorged',
  { hash: string; blockNumber: number; blockHash: string; reorgedAt: string }
>
/**
 * A block that had settled the transaction left the chain: what its owner was told no longer holds. It is as after
 * `TransactionReorged`, which stands for this in logs that were written before.
 */
export type SettlementRevoked = Event<
  'SettlementRevoked',
  {
    /** What was told. */
    outcome: SettledState
    hash: string
    blockNumber: number
    blockHash: string
    /** How many the block had when it left the chain: so deep the reorg reached. */
    confirmations: number
    revokedAt: string
  }
>
export type TransactionConfirmed = Event<
  'TransactionConfirmed',
  { blockNumber: number; confirmations: number; confirmedAt: string }
>
/** Final, and without effect. Without a `code` its execution failed. */
export type TransactionReverted = Event<
  'TransactionReverted',
  { blockNumber: number; confirmations: number; reason: string; revertedAt: string; code?: 'token_not_moved' }
>
export type TransactionFailed = Event<'TransactionFailed', { code: FailureCode; message: string; failedAt: string }>
export type CancellationRequested = Event<'CancellationRequested', { requestedAt: string }>
export type SpeedUpRequested = Event<'SpeedUpRequested', { gasPriority: GasPriority; requestedAt: string }>
export type TransactionCancelled = Event<'TransactionCancelled', { hash: string | null; cancelledAt: string }>
/** The transaction that used a nonce, or carried an authorization that did (EIP-7702), and its block. */
export type TakenBy = { readonly hash: string; readonly blockNumber: number }
/** Proof that another transaction took the nonce, in a finalized block: only now may a new nonce be signed. */
export type NonceConsumedExternally = Event<
  'NonceConsumedExternally',
  {
    nonce: number
    finalizedBlock: number
    foundAt: string
    /** Where the proof is; missing in what was recorded before it was named. */
    takenBy?: TakenBy
  }
>

/** The outcomes that a block gives. */
export type SettledState = 'confirmed' | 'reverted' | 'cancelled'

export type FailureCode =
  | 'insufficient_funds'
  | 'execution_reverted'
  | 'nonce_conflict_external'
  | 'expired'
  | 'fee_cap_exceeded'
  | 'dependency_failed'
  /** Before it was signed: the token's `transfer` returned false. */
  | 'token_transfer_refused'
  /** In its block: the execution succeeded, and the token's contract logged no transfer. */
  | 'token_not_moved'

export type TransactionEvent =
  | OpeningEvent
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
