/** Errors that only exist in HTTP. Their statuses are in error-status.ts. */
import { BursarError, type ErrorItem } from '../core/errors.ts'

/** The request cannot be parsed, so its fields were not checked. */
export class RequestRefused extends BursarError {
  override readonly type = 'validation_error'
  override readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The path exists, but not with this method. */
export class MethodNotAllowed extends BursarError {
  override readonly type = 'not_found'
  override readonly code = 'method_not_allowed'

  constructor(method: string, allowed: readonly string[]) {
    super(`The method ${method} is not allowed on this path: use ${allowed.join(', ')}.`)
  }
}

/** The key is missing, unknown, expired or revoked. The response does not say which. */
export class AuthenticationFailed extends BursarError {
  override readonly type = 'authentication_error'
  override readonly code: 'api_key_missing' | 'api_key_invalid'

  constructor(code: 'api_key_missing' | 'api_key_invalid') {
    super(
      code === 'api_key_missing'
        ? 'An API key is required: send it as "Authorization: Bearer <API_KEY>".'
        : 'The API key is invalid: it is unknown, expired or revoked.',
    )
    this.code = code
  }
}

/** The key is valid, but not from here. The address is what its owner needs to correct the list, or the proxies. */
export class AddressNotAllowed extends BursarError {
  override readonly type = 'permission_error'
  override readonly code = 'address_not_allowed'

  constructor(address: string) {
    super(
      `The API key may not be used from ${address}: use it from an address of its ip_allowlist. If that is the address of a proxy, ` +
        'the operator has to add it to TRUSTED_PROXIES.',
    )
  }
}

/** The key lacks the scope of the route. */
export class ScopeMissing extends BursarError {
  override readonly type = 'permission_error'
  override readonly code = 'insufficient_scope'
  readonly scope: string

  constructor(scope: string) {
    super(`The API key does not have the scope ${scope}: use a key that has it.`)
    this.scope = scope
  }
}

/** Too many requests. */
export class RateLimited extends BursarError {
  override readonly type = 'rate_limit_error'
  override readonly code = 'rate_limit_exceeded'
  override readonly retryable = true
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number) {
    super(`Too many requests: try again in ${retryAfterSeconds} s.`)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A dependency of this process is not working. */
export class NotReady extends BursarError {
  override readonly type = 'unavailable'
  override readonly code = 'not_ready'
  override readonly retryable = true
  readonly failures: readonly { readonly name: string; readonly why: string | null }[]

  constructor(failures: readonly { readonly name: string; readonly why: string | null }[]) {
    super(`Not ready: ${failures.map(({ name }) => name).join(', ')}.`)
    this.failures = failures
  }

  override get items(): readonly ErrorItem[] {
    return this.failures.map(({ name, why }) => ({
      type: this.type,
      code: this.code,
      message: `${name}: ${why ?? 'failed'}`,
      details: { check: name },
    }))
  }
}
