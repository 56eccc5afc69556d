/**
 * The port behind which every private key lives. An implementation may take hundreds of milliseconds and may fail with a
 * retryable error: callers wait, try again later with the same request, and never see a key.
 */

import { Unavailable } from '../core/errors.ts'

/** Names a key that exists. It is recorded in events, so its shape is for ever. */
export type KeyRef =
  | { readonly kind: 'hd'; readonly tenantId: string; readonly index: number }
  | { readonly kind: 'mpc'; readonly keyId: string }

/** Asks for a key of a tenant's seed. The same request always yields the same key, so a job may repeat it. */
export type KeyRequest = Extract<KeyRef, { kind: 'hd' }>

/** `address` has its EIP-55 checksum. */
export type CreatedKey = { readonly key: KeyRef; readonly address: string }

/**
 * A transaction of type 2 (EIP-1559) before its signature; amounts in wei. `to` is always given: contracts are deployed
 * through a factory, so a forgotten recipient can never be taken for a deployment that swallows the value.
 */
export type UnsignedTransaction = {
  readonly chainId: number
  readonly nonce: number
  readonly to: string
  readonly value: bigint
  /** 0x-prefixed bytes of the call, `0x` for none. */
  readonly data: string
  readonly gasLimit: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/**
 * What in the log wants a signature. One who holds a whole key takes the caller's word for it; parties that hold shares look
 * it up in the log themselves, and refuse what it does not cover.
 */
export type IntentRef = { readonly kind: 'transaction' | 'voucher' | 'signature'; readonly id: string }

/** Somebody has helped to sign this transaction under another nonce before, and it was not recorded: only that one will do. */
export class NonceClaimed extends Unavailable {
  readonly nonce: number

  constructor(transactionId: string, nonce: number) {
    super('nonce_claimed', `${transactionId} was signed under nonce ${nonce} before: it gets that one or none.`)
    this.nonce = nonce
  }
}

export type SigningRequest = {
  readonly key: KeyRef
  readonly intent: IntentRef
  readonly transaction: UnsignedTransaction
}

/** Typed structured data (EIP-712); the primary type is the one that no other refers to. Numbers may be decimal strings. */
export type TypedData = {
  readonly domain: {
    readonly name?: string
    readonly version?: string
    readonly chainId?: number
    readonly verifyingContract?: string
    readonly salt?: string
  }
  /** Without `EIP712Domain`: it follows from the domain. */
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>
  readonly message: Readonly<Record<string, unknown>>
}

export type TypedDataRequest = { readonly key: KeyRef; readonly intent: IntentRef; readonly typedData: TypedData }

/** A message for people or programs (EIP-191, version 0x45): its bytes, without the prefix. */
export type MessageRequest = { readonly key: KeyRef; readonly intent: IntentRef; readonly message: Uint8Array }

/** What goes into the log and then on the wire: the bytes and their Keccak-256, both as 0x-prefixed hex. */
export type SignedTransaction = { readonly hash: string; readonly rawTransaction: string }

export type KeyMaker = {
  /**
   * Makes the key of a request, or finds it again.
   *
   * @throws Unavailable when the keystore does not answer
   */
  readonly createKey: (request: KeyRequest) => Promise<CreatedKey>
}

export type Signer = {
  /**
   * Signs in the order of the requests, as far as it goes: the answer may be shorter than the question, and the caller asks
   * for the rest again. Signs whatever it is given: that a nonce is used once is the caller's to guarantee, by the lane's
   * lease and the log.
   *
   * @throws NonceClaimed when the first transaction can be signed under one nonce only, which is not the given one
   * @throws Unavailable when not even the first could be signed now: the same call may succeed later
   * @throws RangeError for a field that EIP-1559 cannot hold: a defect of the caller
   */
  readonly signTransactions: (requests: readonly SigningRequest[]) => Promise<readonly SignedTransaction[]>
  /**
   * Signs whatever it is given: that the owner wants it signed is in the log before. The same request gives a signature that
   * is as good, not always the same one.
   *
   * @returns 65 bytes (r, s, v) in hex: s in the lower half of the order (EIP-2), v 27 or 28
   * @throws Unavailable when the key cannot be reached now: the same call may succeed later
   * @throws TypeError when the message does not fit its types: a defect of the caller
   */
  readonly signTypedData: (request: TypedDataRequest) => Promise<string>
  /**
   * As `signTypedData`, of a message with the prefix of EIP-191: no transaction and no typed data has such bytes.
   *
   * @returns 65 bytes (r, s, v) in hex: s in the lower half of the order (EIP-2), v 27 or 28
   * @throws Unavailable when the key cannot be reached now: the same call may succeed later
   */
  readonly signMessage: (request: MessageRequest) => Promise<string>
}
