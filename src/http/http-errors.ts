/** Refusals that exist only because requests come over HTTP. Their statuses stand in error-status.ts. */
import { BursarError, type ErrorItem } from '../core/errors.ts'

/** The request cannot be read at all: it did not get as far as its fields. */
export class RequestRefused extends BursarError {
  override readonly type = 'validation_error'
  override readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The path exists, the method on it does not. */
export class MethodNotAllowed extends BursarError {
  override readonly type = 'not_found'
  override readonly code = 'method_not_allowed'

  constructor(method: string, allowed: readonly string[]) {
    super(`${method} is not offered here: this path takes ${allowed.join(', ')}.`)
  }
}

/** Nobody we know: no key, or one that is unknown, expired or revoked; which of these is not told. */
export class AuthenticationFailed extends BursarError {
  override readonly type = 'authentication_error'
  override readonly code: 'api_key_missing' | 'api_key_invalid'

  constructor(code: 'api_key_missing' | 'api_key_invalid') {
    super(
      code === 'api_key_missing'
        ? 'An API key is needed: send it as "Authorization: Bearer <API_KEY>".'
        : 'This API key is not valid: it is unknown, expired or revoked.',
    )
    this.code = code
  }
}

/** The key lacks the scope of the route. */
export class ScopeMissing extends BursarError {
  override readonly type = 'permission_error'
  override readonly code = 'insufficient_scope'
  readonly scope: string

  constructor(scope: string) {
    super(`This API key lacks the scope ${scope}: use a key that has it.`)
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

/** Something that this process needs does not work now. */
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
