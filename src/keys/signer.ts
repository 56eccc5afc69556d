/**
 * The port of all private keys. An implementation may take hundreds of milliseconds and may fail with a retryable
 * error: callers wait, retry the same request later, and never see a key.
 */

import { Unavailable } from '../core/errors.ts'
import type { SignedKind } from '../core/registry.ts'

/** Identifies an existing key. It is recorded in events, so its shape must never change. */
export type KeyRef =
  | { readonly kind: 'hd'; readonly tenantId: string; readonly index: number }
  | { readonly kind: 'mpc'; readonly keyId: string }

/** A key of a tenant's seed. The same request always returns the same key, so a job may repeat it. */
export type KeyRequest = Extract<KeyRef, { kind: 'hd' }>

/** `address` has its EIP-55 checksum. */
export type CreatedKey = { readonly key: KeyRef; readonly address: string }

/**
 * An unsigned type 2 transaction (EIP-1559); amounts in wei. `to` is required: contracts are deployed through a
 * factory, so a missing recipient can never become a deployment that takes the value.
 */
export type UnsignedTransaction = {
  readonly chainId: number
  readonly nonce: number
  readonly to: string
  readonly value: bigint
  /** 0x-prefixed call data, `0x` for none. */
  readonly data: string
  readonly gasLimit: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/**
 * The resource of the log that needs a signature. The holder of a whole key trusts the caller; parties that hold shares
 * look it up in the log and refuse what it does not cover.
 */
export type IntentRef = { readonly kind: SignedKind; readonly id: string }

/**
 * A party has helped to sign this transaction with another nonce before, and that was not recorded: only that nonce can
 * be used.
 */
export class NonceClaimed extends Unavailable {
  readonly transactionId: string
  readonly nonce: number
  /** By transaction, the nonces of others that were asked for, as far as they showed. */
  readonly others: ReadonlyMap<string, number>

  constructor(transactionId: string, nonce: number, others: ReadonlyMap<string, number> = new Map()) {
    super(
      'nonce_claimed',
      `${transactionId} was already signed with nonce ${nonce}: it can only be signed with that nonce.`,
    )
    this.transactionId = transactionId
    this.nonce = nonce
    this.others = others
  }
}

/** The parties refuse to sign this transaction. They may sign others of the same sender. */
export class SigningRefused extends Unavailable {
  readonly transactionId: string

  constructor(transactionId: string, reason: string) {
    super('mpc_refused', `The parties refuse to sign ${transactionId}: ${reason}.`)
    this.transactionId = transactionId
  }
}

export type SigningRequest = {
  readonly key: KeyRef
  readonly intent: IntentRef
  readonly transaction: UnsignedTransaction
}

/**
 * Typed structured data (EIP-712); the primary type is the one that no other type refers to. Numbers may be decimal
 * strings.
 */
export type TypedData = {
  readonly domain: {
    readonly name?: string
    readonly version?: string
    readonly chainId?: number
    readonly verifyingContract?: string
    readonly salt?: string
  }
  /** Without `EIP712Domain`, which is derived from the domain. */
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>
  readonly message: Readonly<Record<string, unknown>>
}

export type TypedDataRequest = { readonly key: KeyRef; readonly intent: IntentRef; readonly typedData: TypedData }

/** A message (EIP-191, version 0x45): its bytes, without the prefix. */
export type MessageRequest = { readonly key: KeyRef; readonly intent: IntentRef; readonly message: Uint8Array }

/** The signed bytes and their Keccak-256, both as 0x-prefixed hex; recorded in the log, then submitted. */
export type SignedTransaction = { readonly hash: string; readonly rawTransaction: string }

/**
 * Signed bytes with the address that sends them, in any case; `null` for bytes that are not the requested transaction.
 * The caller compares it with the address that it expects.
 */
export type ProvenTransaction = SignedTransaction & { readonly sender: string | null }

export type KeyMaker = {
  /**
   * Creates the key of a request, or finds the existing one.
   *
   * @throws Unavailable when the keystore does not answer
   */
  readonly createKey: (request: KeyRequest) => Promise<CreatedKey>
}

export type Signer = {
  /**
   * Signs the requests in order, as far as possible: the result may be shorter than the input, and the caller requests
   * the rest again. Signs anything it is given: the caller guarantees through the lane's lease and the log that a nonce
   * is used once.
   *
   * The implementation proves each `sender`: it recovers the sender from the bytes, or derives it from the very key that
   * signed them in this process. It never takes it from the request, or from another process.
   *
   * @throws NonceClaimed when the first transaction can only be signed with another nonce, or its nonce is that of another
   *   transaction, which can only be signed with it and may be none of them
   * @throws SigningRefused for the first transaction
   * @throws Unavailable when not even the first could be signed now: the same call may succeed later
   * @throws RangeError for a field that EIP-1559 cannot hold: a defect of the caller
   */
  readonly signTransactions: (requests: readonly SigningRequest[]) => Promise<readonly ProvenTransaction[]>
  /**
   * Signs anything it is given: the owner's request is in the log before. The same request gives an equally valid
   * signature, not always the same one.
   *
   * @returns 65 bytes (r, s, v) in hex: s in the lower half of the order (EIP-2), v 27 or 28
   * @throws Unavailable when the key cannot be reached now: the same call may succeed later
   * @throws TypeError when the message does not fit its types: a defect of the caller
   */
  readonly signTypedData: (request: TypedDataRequest) => Promise<string>
  /**
   * As `signTypedData`, for a message with the prefix of EIP-191, which no transaction or typed data starts with.
   *
   * @returns 65 bytes (r, s, v) in hex: s in the lower half of the order (EIP-2), v 27 or 28
   * @throws Unavailable when the key cannot be reached now: the same call may succeed later
   */
  readonly signMessage: (request: MessageRequest) => Promise<string>
}
