/**
 * Errors that the domain can explain. Each has a stable `code`, says whether trying again may help, and knows nothing
 * of HTTP: `src/http/error-status.ts` maps types to statuses.
 */

/** The error types of the API's error items. */
export type ErrorType =
  | 'validation_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found'
  | 'conflict'
  | 'idempotency_error'
  | 'policy_error'
  | 'insufficient_funds'
  | 'chain_error'
  | 'rate_limit_error'
  | 'unavailable'
  | 'internal_error'

/** One thing that is wrong, as the caller reads it. */
export type ErrorItem = {
  readonly type: ErrorType
  /** Says what is wrong, what the rule is and what to do. */
  readonly message: string
  /** Path of the request field: `to`, `metadata.image`, `items[2].to`. */
  readonly field?: string
  /** Finer than the type, and as stable: `too_many_decimals`. */
  readonly code?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** The base of every error that the domain throws on purpose. */
export abstract class BursarError extends Error {
  abstract readonly type: ErrorType
  abstract readonly code: string
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean = false
  /** Everything that is wrong; at least one item. */
  get items(): readonly ErrorItem[] {
    return [{ type: this.type, message: this.message, code: this.code }]
  }
  override get name(): string {
    return this.constructor.name
  }
}

/** The request breaks a rule that a caller can read. Lists every failing field, not only the first. */
export class ValidationFailed extends BursarError {
  override readonly type = 'validation_error'
  override readonly code = 'validation_failed'
  readonly #items: readonly ErrorItem[]

  constructor(items: readonly Omit<ErrorItem, 'type'>[]) {
    super(items.map((item) => item.message).join('; '))
    this.#items = items.map((item) => ({ type: 'validation_error' as const, ...item }))
  }

  /** One failing field. */
  static field(field: string, code: string, message: string, details?: Record<string, unknown>): ValidationFailed {
    return new ValidationFailed([{ field, code, message, ...(details ? { details } : {}) }])
  }

  override get items(): readonly ErrorItem[] {
    return this.#items
  }
}

/** What was asked for does not exist, or belongs to another tenant: the two look the same. */
export class NotFound extends BursarError {
  override readonly type = 'not_found'
  override readonly code: string

  /** @param resource the noun the caller used: `wallet`, `transaction` */
  constructor(resource: string, code = `${resource}_not_found`, message = `No such ${resource}.`) {
    super(message)
    this.code = code
  }
}

/** The resource is in a state that does not allow what was asked. */
export class Conflict extends BursarError {
  override readonly type = 'conflict'
  override readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.details = details
  }

  override get items(): readonly ErrorItem[] {
    return [{ type: this.type, message: this.message, code: this.code, details: this.details }]
  }
}

/** The caller is known but may not do this. */
export class PermissionDenied extends BursarError {
  override readonly type = 'permission_error'
  override readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A wallet cannot pay: nothing was recorded as sendable. Amounts are decimal strings of the asset. */
export class InsufficientFunds extends BursarError {
  override readonly type = 'insufficient_funds'
  override readonly code = 'insufficient_funds'
  readonly shortfall: { readonly asset: string; readonly available: string; readonly needed: string }
  readonly #payer: Payer | undefined

  /** @param payer the wallet, where the request need not have named it, nor the amount */
  constructor(shortfall: { asset: string; available: string; needed: string }, payer?: Payer) {
    const { asset, available, needed } = shortfall
    super(
      payer === undefined
        ? `The wallet has ${available} ${asset} available and needs ${needed}: fund it, wait for pending transactions, or send less.`
        : `The wallet ${payer.walletId} (${payer.address}) has ${available} ${asset} available and needs ${needed}: fund it, or ` +
            'wait for its pending transactions.',
    )
    this.shortfall = shortfall
    this.#payer = payer
  }

  override get items(): readonly ErrorItem[] {
    const item = { type: this.type, message: this.message, code: this.code } as const
    if (this.#payer === undefined) return [{ ...item, field: 'amount', details: this.shortfall }]
    const { walletId, address } = this.#payer
    return [{ ...item, details: { ...this.shortfall, wallet_id: walletId, address } }]
  }
}

type Payer = { readonly walletId: string; readonly address: string }

/** A dependency does not answer. The same call may succeed later. */
export class Unavailable extends BursarError {
  override readonly type = 'unavailable'
  override readonly code: string
  override readonly retryable = true

  /** @param code names the dependency: `database_unavailable`, `signer_unavailable`, `rpc_unavailable` */
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** The chain refuses what was asked, for a reason that will not pass by itself. */
export class ChainRefused extends BursarError {
  override readonly type = 'chain_error'
  override readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** An idempotency key was used before for another request. */
export class IdempotencyKeyReused extends BursarError {
  override readonly type = 'idempotency_error'
  override readonly code = 'idempotency_key_reused'

  constructor() {
    super('This Idempotency-Key was used with another request body: use a new key for a new request.')
  }
}

/** A setting has a value that cannot be used: the process must not start. Never repeats the value: it may be a secret. */
export class InvalidSetting extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'invalid_setting'
  readonly setting: string

  /** @param rule what a good value is, as the rest of a sentence that begins with the setting's name */
  constructor(setting: string, rule: string) {
    super(`${setting} ${rule}`)
    this.setting = setting
  }
}
