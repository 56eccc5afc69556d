/**
 * The errors of the domain. Each has a stable `code` and says whether a retry may help; none knows HTTP:
 * `src/http/error-status.ts` maps types to statuses.
 */
import type { Environment } from './networks.ts'

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

/** What a caller should do: by type, then by code. A code with two types is under both. */
export type ErrorActions = Readonly<Partial<Record<ErrorType, Readonly<Record<string, string>>>>>

/** One problem, as the API returns it. */
export type ErrorItem = {
  readonly type: ErrorType
  /** What is wrong, what the rule is and what to do. */
  readonly message: string
  /** Path of the request field: `to`, `metadata.image`, `items[2].to`. */
  readonly field?: string
  /** More specific than the type, and as stable: `too_many_decimals`. */
  readonly code?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** The base class of every expected error of the domain. */
export abstract class BursarError extends Error {
  abstract readonly type: ErrorType
  abstract readonly code: string
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean = false
  /** All problems; at least one. */
  get items(): readonly ErrorItem[] {
    return [{ type: this.type, message: this.message, code: this.code }]
  }
  override get name(): string {
    return this.constructor.name
  }
}

/** The request breaks a documented rule. Lists every failing field, not only the first. */
export class ValidationFailed extends BursarError {
  override readonly type = 'validation_error'
  override readonly code = 'validation_failed'
  readonly #items: readonly ErrorItem[]

  constructor(items: readonly Omit<ErrorItem, 'type'>[]) {
    super(items.map((item) => item.message).join('; '))
    this.#items = items.map((item) => ({ type: 'validation_error' as const, ...item }))
  }

  /** An error for one field. */
  static field(field: string, code: string, message: string, details?: Record<string, unknown>): ValidationFailed {
    return new ValidationFailed([{ field, code, message, ...(details ? { details } : {}) }])
  }

  override get items(): readonly ErrorItem[] {
    return this.#items
  }
}

/** The resource does not exist or belongs to another tenant: the response is the same for both. */
export class NotFound extends BursarError {
  override readonly type = 'not_found'
  override readonly code: string

  /** @param resource the noun of the API: `wallet`, `webhook_replay` */
  constructor(resource: string, code = `${resource}_not_found`, message = `No such ${resource.replaceAll('_', ' ')}.`) {
    super(message)
    this.code = code
  }
}

/** The state of the resource does not allow the request. */
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

/** The caller is authenticated but lacks the permission. */
export class PermissionDenied extends BursarError {
  override readonly type = 'permission_error'
  override readonly code: string
  readonly #field: string | undefined

  /** @param field the field of the request that asks for it, if one does */
  constructor(code: string, message: string, field?: string) {
    super(message)
    this.code = code
    this.#field = field
  }

  override get items(): readonly ErrorItem[] {
    const item = { type: this.type, message: this.message, code: this.code } as const
    return [this.#field === undefined ? item : { ...item, field: this.#field }]
  }
}

/** A wallet cannot pay: nothing was recorded for sending. Amounts are decimal strings of the asset. */
export class InsufficientFunds extends BursarError {
  override readonly type = 'insufficient_funds'
  override readonly code = 'insufficient_funds'
  readonly shortfall: { readonly asset: string; readonly available: string; readonly needed: string }
  readonly #payer: Payer | undefined

  /**
   * @param payer the paying wallet, when the request did not name it
   * @param cause a sentence: what makes the request need more than its amount and an ordinary fee
   */
  constructor(shortfall: { asset: string; available: string; needed: string }, payer?: Payer, cause?: string) {
    const { asset, available, needed } = shortfall
    const problem =
      payer === undefined
        ? `The wallet has ${available} ${asset} available and needs ${needed}: fund it, wait for pending transactions, or send less.`
        : `The wallet ${payer.walletId} (${payer.address}) has ${available} ${asset} available and needs ${needed}: fund it, or ` +
          'wait for its pending transactions.'
    super(cause === undefined ? problem : `${problem} ${cause}`)
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

/** What a limit lacks for a request, in its units. */
export type LimitShortfall = {
  readonly counter: string
  readonly left: bigint
  readonly needed: bigint
  /** When it fits if nothing else is spent until then, ISO 8601 UTC; `null` if it is more than the limit. */
  readonly availableAt: string | null
}

/** A limit of the API key does not allow the request: nothing was recorded for sending. */
export class KeyLimitReached extends BursarError {
  override readonly type = 'policy_error'
  override readonly code = 'key_limit'
  readonly details: Readonly<Record<string, unknown>>
  /** For the record of the refusal; `null` if no limit is about the asset. */
  readonly shortfall: LimitShortfall | null

  constructor(shortfall: LimitShortfall | null, message: string, details: Readonly<Record<string, unknown>>) {
    super(message)
    this.shortfall = shortfall
    this.details = details
  }

  override get items(): readonly ErrorItem[] {
    return [{ type: this.type, message: this.message, code: this.code, details: this.details }]
  }
}

/** The policy of the tenant does not allow the request: nothing was recorded for sending or signing. */
export class PolicyRefused extends BursarError {
  override readonly type = 'policy_error'
  override readonly code: 'policy_denied' | 'policy_limit'
  /** For the record of the refusal. */
  readonly about: { readonly environment: Environment; readonly walletId: string | null }
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: PolicyRefused['code'],
    message: string,
    about: PolicyRefused['about'],
    details: Readonly<Record<string, unknown>>,
  ) {
    super(message)
    this.code = code
    this.about = about
    this.details = details
  }

  override get items(): readonly ErrorItem[] {
    return [{ type: this.type, message: this.message, code: this.code, details: this.details }]
  }
}

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

/** The chain refuses the request for a reason that a retry does not remove. */
export class ChainRefused extends BursarError {
  override readonly type = 'chain_error'
  override readonly code: string

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** The idempotency key was already used for a different request. */
export class IdempotencyKeyReused extends BursarError {
  override readonly type = 'idempotency_error'
  override readonly code = 'idempotency_key_reused'

  constructor() {
    super('This Idempotency-Key was used with another request body: use a new key for a new request.')
  }
}

/**
 * A setting has an unusable value: the process must not start. The message never repeats the value, which may be a
 * secret.
 */
export class InvalidSetting extends BursarError {
  override readonly type = 'internal_error'
  override readonly code = 'invalid_setting'
  readonly setting: string

  /** @param rule the rule of a valid value, completing a sentence that starts with the setting's name */
  constructor(setting: string, rule: string) {
    super(`${setting} ${rule}`)
    this.setting = setting
  }
}

/** A directory of the settings does not answer: system calls of this process still run, and may never end. */
export class DirectoryHangs extends InvalidSetting {}
